/**
 * Does one bounded step of what is due in a pool; says whether there is more to do at once, and when something is due again,
 * in ms by the server's clock, or null for never.
 */
export type UpkeepStep = () => Promise<UpkeepOutcome>;

export interface UpkeepOutcome {
  more: boolean;
  nextMs: number | null;
}

export const NOTHING_DUE: UpkeepOutcome = { more: false, nextMs: null };

/** One step of each; there is more where one of them has more. */
export function together(steps: readonly UpkeepStep[]): UpkeepStep {
  return async () => {
    const outcomes = await Promise.all(steps.map((step) => step()));
    const times = outcomes.map(({ nextMs }) => nextMs).filter((nextMs) => nextMs !== null);
    return { more: outcomes.some(({ more }) => more), nextMs: times.length > 0 ? Math.min(...times) : null };
  };
}

import { setTimeout as sleep } from 'node:timers/promises';

export interface WaitOptions {
  /** How long to wait before the test fails; in milliseconds. */
  deadlineMs?: number;
  /** What is waited for, as in "timed out waiting for <what>". */
  what?: string;
}

type Falsy = false | 0 | '' | null | undefined;

/** Asks again and again until the answer is truthy, and returns it. A condition that throws counts as not met yet. */
export async function waitUntil<T>(
  condition: () => T | Promise<T>,
  { deadlineMs = 10_000, what = 'a condition' }: WaitOptions = {},
): Promise<Exclude<T, Falsy>> {
  const deadline = Date.now() + deadlineMs;
  let lastError: unknown;
  for (;;) {
    try {
      const value = await condition();
      if (value) return value as Exclude<T, Falsy>;
    } catch (error) {
      lastError = error;
    }
    if (Date.now() > deadline) throw new Error(`timed out waiting for ${what}`, { cause: lastError });
    await sleep(10);
  }
}

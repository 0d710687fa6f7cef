/** What a label may hold. */
export type LabelValue = string | number | boolean;
export type Labels = Readonly<Record<string, LabelValue>>;

/** A member as an import gives it. A field that is absent keeps its value, or takes the default on a new member. */
export interface MemberInput {
  /** Public, 1 to 512 characters without control characters; never holds a password. */
  id: string;
  /** What a worker uses, at most 4,096 characters; may be secret. Defaults to the id. */
  value?: string;
  labels?: Labels;
  /** Share of the selections relative to the others, 1 to 100. */
  weight?: number;
  /** Most live leases at once, 1 to 1,000, or null for the pool's. */
  capacity?: number | null;
}

export type MemberState = 'eligible' | 'withdrawn';
export type WithdrawalReason = 'candidate' | 'disabled' | 'cooling' | 'unhealthy' | 'policy';

/** A member as lists and single reads show it: without its value, which may be secret. */
export interface MemberView {
  id: string;
  labels: Labels;
  weight: number;
  capacity: number | null;
  state: MemberState;
  reason: WithdrawalReason | null;
  /** All that the member is withdrawn for now, `reason` first; none for an eligible one. */
  reasons: WithdrawalReason[];
  /** What speaks for `reason`, in words that show no secret: how it violates the policy, what the last probe or outcome said. */
  evidence: string | null;
  /** When it may return, or is probed next: ISO 8601 in UTC, or null where that is not known. */
  returnsAt: string | null;
  /** How often the member has been selected. */
  assigned: number;
  inFlight: number;
}

export interface MemberChanges {
  /** `eligible` lifts `disabled` and `cooling` only. */
  state?: 'eligible' | 'disabled' | undefined;
  /** Withdraws the member for so long, in ms; a cooldown that is running is not shortened. */
  cooldownMs?: number | undefined;
  labels?: Labels | undefined;
  weight?: number | undefined;
  capacity?: number | null | undefined;
}

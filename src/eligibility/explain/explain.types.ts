import { z } from 'zod';
import type { WithdrawalReason } from '../../pool/member.js';
import { labelsSchema, memberIdSchema } from '../../pool/member.schema.js';
import { targetSchema } from '../target.schema.js';

const MAX_EXCLUDED = 1_000;

/** What a selection would ask for; all of it may be absent. */
export const explainRequestSchema = z.strictObject({
  labels: labelsSchema.optional(),
  target: targetSchema.optional(),
  exclude: z.array(memberIdSchema).max(MAX_EXCLUDED).optional().describe('Members that are not wanted'),
});
export type ExplainRequest = z.input<typeof explainRequestSchema>;

export type WithdrawnCounts = Record<WithdrawalReason, number>;

export interface MemberCounts {
  members: number;
  eligible: number;
  /** By the reason that counts. */
  withdrawn: WithdrawnCounts;
}

/** Of the members that a selection asks for; each eligible one is counted once, in the first of the last four that fits. */
export interface MatchCounts extends MemberCounts {
  /** Eligible, but named in `exclude`. */
  excluded: number;
  /** Eligible, but banned at the target. */
  banned: number;
  /** Eligible, but with as many live leases as it may have. */
  atCapacity: number;
  /** Those left. */
  selectable: number;
}

/** How many members of a pool can be selected, and why not the others. */
export interface Explanation extends MemberCounts {
  match: MatchCounts;
  /** Whether the pool has as many live leases as it may have: nobody is selected until one of them ends. */
  atLimit: boolean;
  /** When the first of the matching members returns from its cooldown; ISO 8601 in UTC, or null where none cools. */
  nextReturnAt: string | null;
  /** When the first ban of a matching eligible member ends; ISO 8601 in UTC, or null where none is banned. */
  nextBanEndsAt: string | null;
  /** False where the pool has more members than were looked at: `match` and the times are of those then. */
  complete: boolean;
}

export function noneWithdrawn(): WithdrawnCounts {
  return { candidate: 0, disabled: 0, cooling: 0, unhealthy: 0, policy: 0 };
}

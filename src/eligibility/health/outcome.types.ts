import { z } from 'zod';
import { memberIdSchema } from '../../pool/member.schema.js';
import type { WithdrawalReason } from '../../pool/member.js';
import { targetSchema } from '../target.schema.js';

/** The most outcomes that one call may report. */
export const MAX_OUTCOMES = 1_000;
const MAX_LATENCY_MS = 86_400_000;

export const outcomeNameSchema = z
  .enum(['success', 'failure', 'banned'])
  .describe(
    'How the work went; `banned`: the target refuses the member, or, without a target, the member is of no use',
  );

export const latencySchema = z
  .int()
  .min(0)
  .max(MAX_LATENCY_MS)
  .describe('How long the work took, in ms; it has no effect on eligibility');

/** How work with a member went. */
export const outcomeSchema = z.strictObject({
  outcome: outcomeNameSchema,
  target: targetSchema.optional(),
  latencyMs: latencySchema.optional(),
  selectedAt: z.iso
    .datetime()
    .optional()
    .describe('When the member was selected: what began before its latest cooldown says nothing new of it'),
});
export type Outcome = z.input<typeof outcomeSchema>;
export type OutcomeName = Outcome['outcome'];

export const outcomeBatchSchema = z.strictObject({
  outcomes: z
    .array(outcomeSchema.extend({ id: memberIdSchema }))
    .min(1)
    .max(MAX_OUTCOMES),
});
export type OutcomeBatch = z.input<typeof outcomeBatchSchema>;

/** What an outcome came to. */
export interface OutcomeResult {
  status: 'counted' | 'unknown-member';
  /** Why the member is withdrawn now; null if it is not. */
  reason: WithdrawalReason | null;
  /** Until when, where that is known; with `banned` for a target, until when it is banned there. ISO 8601 in UTC. */
  returnsAt: string | null;
}

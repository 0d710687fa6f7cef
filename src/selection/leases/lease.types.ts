import { z } from 'zod';
import { latencySchema, outcomeNameSchema } from '../../eligibility/health/outcome.types.js';
import { targetSchema } from '../../eligibility/target.schema.js';

/** How a lease ended. */
export type LeaseEnding = 'completed' | 'abandoned' | 'expired' | 'forced';

/** The most leases that one call may extend. */
export const MAX_EXTENSIONS = 1_000;

const ttlMs = z.int().min(1_000).max(604_800_000).describe('From now on, in ms; at most `lease.maxTtlMs` of the pool');
const fence = z
  .int()
  .min(0)
  .optional()
  .describe("The lease's fence, for a check against a mix-up")
  .meta({ example: 1_767_225_600_000_000 });

export const completionSchema = z.strictObject({
  outcome: outcomeNameSchema.optional(),
  target: targetSchema.optional().describe('What the member was used on; absent: the target of the selection'),
  latencyMs: latencySchema.optional(),
  fence,
});
export type Completion = z.input<typeof completionSchema>;

export const abandonmentSchema = z.strictObject({
  reason: z.string().max(256).optional().describe('For people who look at logs'),
  fence,
});
export type Abandonment = z.input<typeof abandonmentSchema>;

export const extensionSchema = z.strictObject({ ttlMs: ttlMs.optional(), fence });
export type Extension = z.input<typeof extensionSchema>;

export const extensionBatchSchema = z.strictObject({
  leases: z
    .array(z.strictObject({ id: z.string(), ttlMs: ttlMs.optional() }))
    .min(1)
    .max(MAX_EXTENSIONS),
});
export type ExtensionBatch = z.input<typeof extensionBatchSchema>;

/** A lease that lives. Times are ISO 8601 in UTC, by the clock of the Redis server. */
export interface LeaseView {
  id: string;
  memberId: string;
  owner: string | null;
  fence: number;
  acquiredAt: string;
  expiresAt: string;
}

/** What became of one lease of a batch. */
export interface ExtensionResult {
  id: string;
  status: 'extended' | 'ended' | 'expired' | 'unknown';
  /** Only of one that was extended. */
  expiresAt?: string;
}

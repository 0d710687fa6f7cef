import { z } from 'zod';
import { targetSchema } from '../eligibility/target.schema.js';
import type { Labels } from '../pool/member.js';
import { labelsSchema, memberIdSchema } from '../pool/member.schema.js';

/** The most selections that one batch may ask for. */
export const MAX_BATCH = 1_000;
/** Those that are excluded may stand in front of all others at every selection. */
const MAX_EXCLUDED = 200;

const NO_CONTROL = /^[^\p{Cc}\p{Cs}]*$/u;
const CONTROL_RULE = 'must be text without control characters';

/**
 * What a selection may ask for. The lease fields are taken without effect where the pool's strategy has no lease
 * lifecycle, so that a strategy can be changed without changing its callers.
 */
const requestSchema = z.strictObject({
  waitMs: z
    .int()
    .min(0)
    .max(60_000)
    .optional()
    .describe('Wait this long for a member, in ms, in order of arrival; 0 not to wait'),
  ttlMs: z.int().min(1_000).max(604_800_000).optional().describe('How long the lease lives, in ms'),
  owner: z
    .string()
    .min(1)
    .max(128)
    .regex(NO_CONTROL, CONTROL_RULE)
    .optional()
    .describe('Who asks, for people who look at leases')
    .meta({ example: 'crawler-17' }),
  requestId: z
    .string()
    .min(1)
    .max(128)
    .regex(NO_CONTROL, CONTROL_RULE)
    .optional()
    .describe('Makes a repeat find the lease of the first call'),
  labels: labelsSchema
    .optional()
    .describe("Only members with these labels; the pool's `filters` must name them together"),
  exclude: z
    .array(memberIdSchema)
    .max(MAX_EXCLUDED)
    .optional()
    .describe('Ids of members that are not wanted')
    .meta({ example: ['http://192.0.2.7:8080'] }),
  target: targetSchema
    .optional()
    .describe('What the member is to be used on: one that is banned there is not selected'),
  session: z
    .string()
    .min(1)
    .max(128)
    .regex(NO_CONTROL, CONTROL_RULE)
    .optional()
    .describe('The same member for the same session, as long as it may be selected')
    .meta({ example: 'cart-9' }),
});

export const selectionRequestSchema = requestSchema.superRefine(({ waitMs = 0, exclude, target, session }, context) => {
  if (waitMs === 0 || (exclude === undefined && target === undefined && session === undefined)) return;
  context.addIssue({
    code: 'custom',
    path: ['waitMs'],
    message: 'cannot go with `exclude`, `target` or `session`: nobody waits for such a member',
  });
});

export const batchRequestSchema = requestSchema.omit({ waitMs: true }).extend({
  count: z.int().min(1).max(MAX_BATCH).describe('How many selections').meta({ example: 100 }),
});

export type SelectionRequest = z.infer<typeof selectionRequestSchema>;
export type BatchRequest = z.infer<typeof batchRequestSchema>;

/** The right to use a member until it is completed, abandoned or expires. */
export interface Lease {
  id: string;
  /** Grows with every lease of the pool, so that a resource can refuse a stale holder. */
  fence: number;
  ttlMs: number;
  /** ISO 8601 in UTC, by the clock of the Redis server. */
  expiresAt: string;
}

export interface Selection {
  member: { id: string; value: string; labels: Labels };
  /** How often the member has been selected, this time included. */
  assigned: number;
  /** Null where the pool's strategy has no lease lifecycle. */
  lease: Lease | null;
}

/**
 * Why there is nothing to hand out: the pool has no members, all are withdrawn, the request is content with none of those that
 * are eligible, or no lease is free.
 */
export type NothingReason = 'EMPTY_POOL' | 'NONE_ELIGIBLE' | 'NO_MATCH' | 'AT_CAPACITY';

/** The answer to "which one next?"; with nothing to hand out, `selection` is null and `reason` says why. */
export interface SelectionResult {
  selection: Selection | null;
  reason: NothingReason | null;
  /** Time to the earliest change that is known to come, in ms; null where none is. */
  retryAfterMs: number | null;
}

export interface BatchResult {
  selections: Selection[];
  reason: NothingReason | null;
  retryAfterMs: number | null;
}

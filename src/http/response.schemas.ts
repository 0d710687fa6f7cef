import { z } from 'zod';
import type { OutcomeResult } from '../eligibility/health/outcome.types.js';
import type { Explanation } from '../eligibility/explain/explain.types.js';
import type { MemberView } from '../pool/member.js';
import { labelsSchema } from '../pool/member.schema.js';
import type { ImportReport } from '../pool/member.importer.js';
import { poolNameSchema, poolSettingsSchema } from '../pool/pool.settings.js';
import type { PoolView } from '../pool/pool.service.js';
import type { LeaseView } from '../selection/leases/lease.types.js';
import type { BatchResult, SelectionResult } from '../selection/selection.types.js';
import type { Problem } from './problem.js';
import { PROBLEMS, type ProblemCode } from './problem.table.js';

/** What the service answers, for its documentation; the types hold these to what the services return. */
const count = z.int().min(0);
const cursor = z.string().nullable().describe('For the next page; null on the last');
const memberId = z.string().meta({ example: 'http://192.0.2.7:8080' });

export const poolSchema: z.ZodType<PoolView> = poolSettingsSchema.extend({
  name: poolNameSchema,
  members: z.object({ total: count, eligible: count, withdrawn: count }),
  assigned: count.describe('How many selections the pool has made'),
  inFlight: count.describe('Live leases'),
  waiters: count,
  probes: z.object({
    waiting: count.describe('Candidates and unhealthy members that are to be probed, now or later'),
    running: count,
  }),
});
export const scheduledProbesSchema = z.object({ scheduled: count.describe('How many members are due') });
export const poolPageSchema = z.object({ pools: z.array(poolSchema), nextCursor: cursor });

const withdrawalReason = z.enum(['candidate', 'disabled', 'cooling', 'unhealthy', 'policy']);

export const memberSchema: z.ZodType<MemberView> = z.object({
  id: memberId,
  labels: labelsSchema,
  weight: z.int().min(1),
  capacity: z.int().nullable(),
  state: z.enum(['eligible', 'withdrawn']),
  reason: withdrawalReason.nullable(),
  reasons: z.array(withdrawalReason).describe('All that it is withdrawn for now, `reason` first'),
  evidence: z
    .string()
    .nullable()
    .describe('What speaks for `reason`: how it violates the policy, what the last probe or outcome said')
    .meta({ example: 'has a port that is not allowed' }),
  returnsAt: z.string().nullable().describe('When it may return, or is probed next; null where that is not known'),
  assigned: count.describe('How often the member has been selected'),
  inFlight: count,
});
export const memberPageSchema = z.object({ members: z.array(memberSchema), nextCursor: cursor });

const memberCounts = {
  members: count,
  eligible: count,
  withdrawn: z
    .object({ candidate: count, disabled: count, cooling: count, unhealthy: count, policy: count })
    .describe('By the reason that counts'),
};
export const explanationSchema: z.ZodType<Explanation> = z.object({
  ...memberCounts,
  match: z
    .object({
      ...memberCounts,
      excluded: count.describe('Eligible, but named in `exclude`'),
      banned: count.describe('Eligible, but banned at the target'),
      atCapacity: count.describe('Eligible, but with as many live leases as they may have'),
      selectable: count.describe('Those left'),
    })
    .describe(
      'Of the members that are asked for; each eligible one is counted once, in the first of the last four that fits',
    ),
  atLimit: z.boolean().describe('The pool has as many live leases as it may have'),
  nextReturnAt: z.string().nullable().describe('When the first matching member returns from its cooldown'),
  nextBanEndsAt: z.string().nullable().describe('When the first ban of a matching eligible member ends'),
  complete: z.boolean().describe('False beyond 200,000 members: `match` and the times are of as many'),
});

export const importReportSchema: z.ZodType<ImportReport> = z.object({
  added: count,
  updated: count,
  restored: count.describe('Members that were removed before and came back with their history'),
  unchanged: count,
  duplicates: count.describe('Repeats within the list; the first one counts'),
  removed: count,
  total: count.describe('Members of the pool afterwards'),
  rejectedTotal: count,
  rejected: z.array(z.object({ line: count, reason: z.string() })).describe('The first 1,000'),
});

export const leaseViewSchema: z.ZodType<LeaseView> = z.object({
  id: z.string(),
  memberId,
  owner: z.string().nullable(),
  fence: count,
  acquiredAt: z.string(),
  expiresAt: z.string(),
});
export const leasePageSchema = z.object({ leases: z.array(leaseViewSchema), nextCursor: cursor });
export const completedSchema = z.object({ status: z.enum(['completed', 'already-completed']) });
export const abandonedSchema = z.object({ status: z.enum(['abandoned', 'already-abandoned']) });
export const extendedSchema = z.object({ ttlMs: count, expiresAt: z.string() });
export const extensionResultsSchema = z.object({
  leases: z.array(
    z.object({
      id: z.string(),
      status: z.enum(['extended', 'ended', 'expired', 'unknown']),
      expiresAt: z.string().optional(),
    }),
  ),
});

const leaseSchema = z.object({
  id: z.string(),
  fence: count.describe('Grows with every lease of the pool'),
  ttlMs: count,
  expiresAt: z.string(),
});

const selection = z.object({
  member: z.object({ id: memberId, value: z.string(), labels: labelsSchema }),
  assigned: count.describe('How often the member has been selected, this time included'),
  lease: leaseSchema.nullable().describe('Null where the strategy has no lease lifecycle'),
});
const nothing = {
  reason: z
    .enum(['EMPTY_POOL', 'NONE_ELIGIBLE', 'NO_MATCH', 'AT_CAPACITY'])
    .nullable()
    .describe('Why there is nothing to hand out'),
  retryAfterMs: count.nullable().describe('Time to the earliest change that is known to come'),
};
export const selectionResultSchema: z.ZodType<SelectionResult> = z.object({
  selection: selection.nullable(),
  ...nothing,
});
export const batchResultSchema: z.ZodType<BatchResult> = z.object({ selections: z.array(selection), ...nothing });

const outcomeResult = z.object({
  status: z.enum(['counted', 'unknown-member']),
  reason: z.enum(['candidate', 'disabled', 'cooling', 'unhealthy', 'policy']).nullable(),
  returnsAt: z.string().nullable().describe('With `banned` for a target: until when the member is banned there'),
});
export const outcomeResultSchema: z.ZodType<OutcomeResult> = outcomeResult;
export const outcomeResultsSchema = z.object({ outcomes: z.array(outcomeResult.extend({ id: memberId })) });

export const healthSchema = z.object({ status: z.literal('ok') });

export const problemSchema: z.ZodType<Problem> = z.looseObject({
  type: z.string().meta({ example: 'urn:evenhand:problem:pool-not-found' }),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  instance: z.string(),
  code: z.enum(Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]]).meta({ example: 'POOL_NOT_FOUND' }),
  errors: z
    .array(z.object({ path: z.string(), message: z.string() }))
    .optional()
    .describe('The fields that are not valid'),
  requestId: z.string().optional(),
});

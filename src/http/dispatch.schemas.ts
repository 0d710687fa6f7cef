import { z } from 'zod';
import type { QueueView } from '../dispatch/queue.view.js';
import { JOB_STATES, type JobCounts, type JobView, type RequestView } from '../dispatch/job.types.js';
import { queueNameSchema, queueSettingsSchema } from '../dispatch/queue.settings.js';
import type { RequestReceipt } from '../dispatch/request.intake.js';

/** What the service answers about queues, for its documentation; the types hold these to what the services return. */
const count = z.int().min(0);
const cursor = z.string().nullable().describe('For the next page; null on the last');
const time = z.string().nullable();
const jobId = z.string().meta({ example: '4f1c9f0d2a7b3e5d6c8a9b0e-7' });
const requestId = z.string().meta({ example: '4f1c9f0d2a7b3e5d6c8a9b0e' });

const counts = z.object(
  Object.fromEntries(JOB_STATES.map((state) => [state, count])) as Record<keyof JobCounts, typeof count>,
);

export const queueSchema: z.ZodType<QueueView> = queueSettingsSchema.extend({
  name: queueNameSchema,
  paused: z.boolean(),
  ...counts.shape,
  blocked: z
    .string()
    .nullable()
    .describe('Why nothing was started when that was last tried; null where something was')
    .meta({ example: 'AT_CAPACITY' }),
  nodes: z
    .array(
      z.object({
        id: z.string().meta({ example: 'http://192.0.2.7:6800' }),
        starting: count,
        running: count,
        restsUntil: time.describe('Until when it gets no job; null where it may get one'),
        reason: z.string().nullable(),
      }),
    )
    .describe('Those that have jobs of the queue, or get none for a while'),
});
export const queuePageSchema = z.object({ queues: z.array(queueSchema), nextCursor: cursor });

export const receiptSchema: z.ZodType<RequestReceipt> = z.object({
  id: requestId,
  jobs: z.array(jobId).describe('Ids of the jobs, in their order'),
});

export const requestSchema: z.ZodType<RequestView> = z.object({
  id: requestId,
  requestId: z.string().nullable(),
  owner: z.string().nullable(),
  priority: count,
  total: count,
  jobs: counts.describe('How many of its jobs are in which state'),
  acceptedAt: z.string(),
  endedAt: time.describe('When the last of its jobs ended; null before'),
});
export const requestPageSchema = z.object({ requests: z.array(requestSchema), nextCursor: cursor });

export const jobSchema: z.ZodType<JobView> = z.object({
  id: jobId,
  request: requestId,
  state: z.enum(JOB_STATES),
  node: z.string().nullable().describe('Where it was last started, or is being started'),
  externalId: z.string().nullable().describe('By which that node knows it'),
  attempts: count.describe('Starts so far'),
  reason: z.string().nullable().describe('Why it failed, was lost or waits again'),
  payload: z.record(z.string(), z.unknown()),
  waitingAt: time,
  startingAt: time,
  runningAt: time,
  endedAt: time,
  log: z.array(z.object({ at: z.string(), line: z.string() })).describe('The newest lines, the oldest of them first'),
});
export const jobPageSchema = z.object({ jobs: z.array(jobSchema), nextCursor: cursor });

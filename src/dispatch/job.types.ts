import { z } from 'zod';

/**
 * Where a job is: in line; being started on a node; on a node; ended well; ended badly, or not to be started; not wanted any
 * more; gone from a node that does not know what became of it.
 */
export const JOB_STATES = ['waiting', 'starting', 'running', 'finished', 'failed', 'cancelled', 'lost'] as const;
export type JobState = (typeof JOB_STATES)[number];
export type JobCounts = Record<JobState, number>;

/** The most jobs of one request. */
export const MAX_JOBS = 10_000;
/** The most jobs that may wait in one queue. */
export const MAX_WAITING = 1_000_000;
const MAX_PAYLOAD_BYTES = 65_536;

const CLEAN = /^[^\p{Cc}\p{Cs}]*$/u;
const CLEAN_RULE = 'must be text without control characters';

/** Not `z.json()`, which takes a minute for as much as a request may hold. */
const payloadSchema = z
  .record(z.string(), z.unknown())
  .transform((payload, context) => {
    const text = jsonTextOf(payload);
    if (text !== undefined && Buffer.byteLength(text) <= MAX_PAYLOAD_BYTES) {
      return JSON.parse(text) as Record<string, unknown>;
    }
    const message = text === undefined ? 'must be JSON' : `must not be longer than ${MAX_PAYLOAD_BYTES} bytes of JSON`;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  })
  .describe('What the launcher of the queue takes');

/** Undefined for what cannot be written as JSON: a circle, a big integer, more levels than the stack holds. */
function jsonTextOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

export const jobRequestSchema = z.strictObject({
  requestId: z
    .string()
    .min(1)
    .max(128)
    .regex(CLEAN, CLEAN_RULE)
    .optional()
    .describe('Makes a repeat find the request of the first call, as long as that is kept'),
  owner: z
    .string()
    .min(1)
    .max(128)
    .regex(CLEAN, CLEAN_RULE)
    .optional()
    .describe('Who asks, for people who look at requests'),
  priority: z.int().min(0).max(1_000).default(0).describe('The higher one is started first'),
  jobs: z
    .array(z.strictObject({ payload: payloadSchema }))
    .min(1)
    .max(MAX_JOBS),
});
export type JobRequest = z.input<typeof jobRequestSchema>;
export type CheckedJobRequest = z.output<typeof jobRequestSchema>;

/** One attempt of one job of a request. */
export interface AttemptRef {
  queue: string;
  request: string;
  /** From 0, in the order of the request. */
  number: number;
  /** From 1. */
  attempt: number;
}

/** A job as Redis has it. Times are in ms by the clock of the Redis server. */
export interface JobRecord {
  state: JobState;
  attempt: number;
  externalId?: string;
  pool?: string;
  node?: string;
  /** The value of the node; secret. */
  address?: string;
  /** As JSON. */
  labels?: string;
  lease?: string;
  /** What the queue said of its launcher when the node was found, as JSON. */
  launcher?: string;
  /** The start may have been told to the node. */
  isPosted?: boolean;
  /** Its node has been asked to end it. */
  isCancelTold?: boolean;
  reason?: string | null;
  waitingAt?: number;
  startingAt?: number;
  runningAt?: number;
  endedAt?: number;
}

/** A job as it is shown. Times are ISO 8601 in UTC, by the clock of the Redis server. */
export interface JobView {
  id: string;
  request: string;
  state: JobState;
  /** Id of the node that it was last started on, or is to be. */
  node: string | null;
  /** By which that node knows it. */
  externalId: string | null;
  /** Starts so far. */
  attempts: number;
  /** Why it failed, was lost or waits again. */
  reason: string | null;
  payload: Record<string, unknown>;
  waitingAt: string | null;
  startingAt: string | null;
  runningAt: string | null;
  endedAt: string | null;
  /** The newest lines, the oldest of them first. */
  log: { at: string; line: string }[];
}

/** A request as it is shown. */
export interface RequestView {
  id: string;
  requestId: string | null;
  owner: string | null;
  priority: number;
  total: number;
  jobs: JobCounts;
  acceptedAt: string;
  /** When the last of its jobs ended; null before. */
  endedAt: string | null;
}

/** Whether it takes one of the places that the limit of its queue gives. */
export function isActive({ state }: Pick<JobRecord, 'state'>): boolean {
  return state === 'starting' || state === 'running';
}

/** `<request>-<number>`: what callers know a job by. */
export function jobIdOf(request: string, number: number): string {
  return `${request}-${number}`;
}

/** Undefined for a text that is no job's id. */
export function readJobId(id: string): { request: string; number: number } | undefined {
  const found = /^([0-9a-f]{24})-(0|[1-9][0-9]{0,4})$/.exec(id);
  return found ? { request: found[1] as string, number: Number(found[2]) } : undefined;
}

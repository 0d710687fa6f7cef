import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { redisCall } from '../redis/redis.call.js';
import type { RedisClient } from '../redis/redis.client.js';
import { RedisScript } from '../redis/redis.script.js';
import { REDIS_CLIENT } from '../redis/redis.tokens.js';
import { loadScript } from '../redis/script.loader.js';
import { type AttemptRef, type JobRecord, type JobState, jobIdOf, readJobId } from './job.types.js';
import { oneLine } from './one.line.js';
import { QueueKeyNames, jobKeys } from './queue.keys.js';

const CLAIM = new RedisScript(loadScript('dispatch/claim.lua'));
const ADOPT = new RedisScript(loadScript('dispatch/adopt.lua'));
const STEP = new RedisScript(loadScript('dispatch/step.lua'));
const SEEN = new RedisScript(loadScript('dispatch/seen.lua'));
const UNWATCHED = new RedisScript(loadScript('dispatch/unwatched.lua'));

/** Jobs that one look finds. */
const MOST_UNWATCHED = 1_000;
/** Of a line of the log, and of a reason. */
const MAX_LINE_LENGTH = 400;

/** What the record of a job holds of the node that it is started on. */
export interface Placement {
  /** The pool that the node was leased from. */
  pool: string;
  node: string;
  /** Secret. */
  address: string;
  /** As JSON, like `launcher`: numbers would be rounded in a script. */
  labels: string;
  lease: string;
  /** How it is started there, as JSON: what the queue said when the node was found. */
  launcher: string;
}

export interface Adopted {
  record: JobRecord;
  payload: Record<string, unknown>;
  isUnwanted: boolean;
}

/** Whether a job is wanted by those who asked for it; `GONE`: it has ended, or somebody else acts on it. */
export type Seen = 'WANTED' | 'UNWANTED' | 'GONE';

/** One step in the life of a job. */
export interface JobStep {
  before: JobState;
  state: JobState;
  changes?: Partial<JobRecord>;
  /** For the log of the job. */
  line?: string;
  /** The start has been answered, or is not waited for any more: the next job may be started. */
  isAnswered?: boolean;
  /** Of a job that goes back to `waiting`: for how long. */
  againMs?: number;
}

/** Takes jobs from step to step: each one is written before anything follows from it. */
@Injectable()
export class JobStore {
  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly names: QueueKeyNames,
  ) {}

  /** @returns the attempt, or why the turn has to be asked for anew */
  async claim(
    queue: string,
    { token, request, number, startMs, keepMs }: ClaimRequest,
    placement: Placement,
  ): Promise<AttemptRef | 'LATE' | 'PAUSED' | 'FULL' | 'CHANGED'> {
    const keys = this.keysOf(queue, request);
    const args = [token, request, number, JSON.stringify(placement), startMs, keepMs, newNonce()];
    const [word, claimed, attempt] = (await CLAIM.run(this.redis, keys, args)) as ClaimReply;
    return word === 'CLAIMED' ? { queue, request, number: claimed, attempt } : word;
  }

  /** Makes the owner the one who acts on the attempt from now on; undefined where there is no such attempt any more. */
  async adopt({ queue, request, number, attempt }: AttemptRef, owner: string): Promise<Adopted | undefined> {
    const args = [request, number, attempt, owner];
    const found = (await ADOPT.run(this.redis, this.keysOf(queue, request), args)) as [string, string, string] | null;
    if (!found) return undefined;
    const [record, payload, unwanted] = found;
    return {
      record: readRecord(record),
      payload: JSON.parse(payload) as Adopted['payload'],
      isUnwanted: unwanted === '1',
    };
  }

  /** A function that takes the step; it may be called again where the answer was lost. It gives undefined where somebody else acts on the job. */
  stepper(ref: AttemptRef, owner: string, step: JobStep, keepMs: number): () => Promise<JobRecord | undefined> {
    const { before, state, changes = {}, line = '', isAnswered = false, againMs = 0 } = step;
    const { reason } = changes;
    const clean = typeof reason === 'string' ? { ...changes, reason: oneLine(reason, MAX_LINE_LENGTH) } : changes;
    const args = [
      ref.request,
      ref.number,
      owner,
      before,
      state,
      JSON.stringify(clean),
      oneLine(line, MAX_LINE_LENGTH),
      isAnswered ? '1' : '',
      againMs,
      keepMs,
      newToken(),
    ];
    return async () => {
      const found = (await STEP.run(this.redis, this.keysOf(ref.queue, ref.request), args)) as string | null;
      return found === null ? undefined : readRecord(found);
    };
  }

  /** Says that jobs are watched, by those who have adopted them. @returns how it is with each */
  async seen(queue: string, watched: readonly { ref: AttemptRef; owner: string }[]): Promise<Seen[]> {
    const { active, cancels, owners } = this.names.queue(queue);
    const args = watched.flatMap(({ ref, owner }) => [jobIdOf(ref.request, ref.number), owner]);
    return (await SEEN.run(this.redis, [active, cancels, owners], args)) as Seen[];
  }

  /** Jobs that nobody has watched for so long. @returns also the server's time and how many jobs of the queue are not at their end */
  async unwatched(queue: string, afterMs: number): Promise<{ nowMs: number; live: number; refs: AttemptRef[] }> {
    const keys = this.names.queue(queue);
    const [nowMs, live, ...ids] = (await UNWATCHED.run(
      this.redis,
      [keys.queue, keys.active],
      [afterMs, MOST_UNWATCHED],
    )) as [number, number, ...string[]];
    const found = await Promise.all(ids.map((id) => this.refOf(queue, id)));
    return { nowMs, live, refs: found.filter((ref) => ref !== undefined) };
  }

  private async refOf(queue: string, id: string): Promise<AttemptRef | undefined> {
    const read = readJobId(id);
    if (!read) return undefined;
    const record = await redisCall(this.redis.hget(this.names.request(queue, read.request).jobs, String(read.number)));
    return record === null ? undefined : { queue, ...read, attempt: readRecord(record).attempt };
  }

  private keysOf(queue: string, request: string): string[] {
    return jobKeys(this.names.queue(queue), this.names.request(queue, request));
  }
}

export interface ClaimRequest {
  /** Of who has the turn. */
  token: string;
  request: string;
  /** Of the job that is to be started again; empty for the next one of the request. */
  number: string;
  startMs: number;
  keepMs: number;
}

type ClaimReply = ['CLAIMED', number, number] | ['LATE' | 'PAUSED' | 'FULL' | 'CHANGED'];

export function readRecord(text: string): JobRecord {
  return JSON.parse(text) as JobRecord;
}

/** 96 random bits. */
export function newToken(): string {
  return randomBytes(12).toString('hex');
}

/** 48 random bits: enough for the attempts of one job, whatever requests of its name there were before. */
function newNonce(): string {
  return randomBytes(6).toString('hex');
}

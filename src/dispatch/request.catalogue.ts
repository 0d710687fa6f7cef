import { Inject, Injectable } from '@nestjs/common';
import { parseInput } from '../errors/parse.input.js';
import { type Page, type PageRequest, pageOf, pageRequestSchema, readNumberCursor } from '../pool/page.js';
import { redisCall } from '../redis/redis.call.js';
import type { RedisClient } from '../redis/redis.client.js';
import { RedisScript } from '../redis/redis.script.js';
import { REDIS_CLIENT } from '../redis/redis.tokens.js';
import { loadScript } from '../redis/script.loader.js';
import { JobNotFoundError, RequestNotFoundError } from './dispatch.errors.js';
import { readRecord } from './job.store.js';
import {
  JOB_STATES,
  type JobCounts,
  type JobRecord,
  type JobView,
  type RequestView,
  jobIdOf,
  readJobId,
} from './job.types.js';
import type { StoredQueue } from './queue.directory.js';
import { QueueKeyNames, jobKeys } from './queue.keys.js';

const CANCEL_JOB = new RedisScript(loadScript('dispatch/cancel-job.lua'));
const CANCEL_REQUEST = new RedisScript(loadScript('dispatch/cancel-request.lua'));

type Cancelled = 'CANCELLED' | 'MARKED' | 'ENDED' | 'MISSING';
type Fields = Readonly<Record<string, string>>;

/** Shows requests and their jobs, and cancels them. */
@Injectable()
export class RequestCatalogue {
  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly names: QueueKeyNames,
  ) {}

  /** Those that are kept, in the order of their arrival. */
  async list({ name, keys }: StoredQueue, page: PageRequest = {}): Promise<Page<'requests', RequestView>> {
    const { limit, cursor } = parseInput(pageRequestSchema, page);
    const from = cursor === undefined ? '-inf' : `(${readNumberCursor(cursor)}`;
    const flat = await redisCall(
      this.redis.zrangebyscore(keys.requests, from, '+inf', 'WITHSCORES', 'LIMIT', 0, limit + 1),
    );
    const found = Array.from({ length: flat.length / 2 }, (_, n) => ({
      id: flat[n * 2] ?? '',
      place: flat[n * 2 + 1] ?? '',
    }));
    const { items, nextCursor } = pageOf(found, limit, ({ place }) => place);
    const fields = await Promise.all(items.map(({ id }) => this.fieldsOf(name, id)));
    return { requests: fields.filter((each) => each !== undefined).map(requestView), nextCursor };
  }

  /** @throws RequestNotFoundError */
  async get({ name }: StoredQueue, id: string): Promise<RequestView> {
    return requestView(await this.require(name, id));
  }

  /** Jobs of a request, in their order. @throws RequestNotFoundError */
  async listJobs({ name }: StoredQueue, id: string, page: PageRequest = {}): Promise<Page<'jobs', JobView>> {
    const { limit, cursor } = parseInput(pageRequestSchema, page);
    const fields = await this.require(name, id);
    const from = cursor === undefined ? 0 : readNumberCursor(cursor) + 1;
    const length = Math.max(0, Math.min(limit + 1, Number(fields['total']) - from));
    const { items, nextCursor } = pageOf(
      Array.from({ length }, (_, n) => from + n),
      limit,
      String,
    );
    return { jobs: await this.views(name, fields, items), nextCursor };
  }

  /** @throws JobNotFoundError */
  async getJob({ name }: StoredQueue, id: string): Promise<JobView> {
    const { request, number } = requireJobId(name, id);
    const fields = await this.fieldsOf(name, request);
    if (!fields || number >= Number(fields['total'])) throw new JobNotFoundError(name);
    const [view] = await this.views(name, fields, [number]);
    return view as JobView;
  }

  /** One that has begun ends when its node says so. Safe to repeat. @throws JobNotFoundError */
  async cancelJob(queue: StoredQueue, id: string): Promise<JobView> {
    const { request, number } = requireJobId(queue.name, id);
    const word = await this.cancel(CANCEL_JOB, queue, request, [request, number, queue.settings.keepMs]);
    if (word === 'MISSING') throw new JobNotFoundError(queue.name);
    return this.getJob(queue, id);
  }

  /** The jobs that wait end at once, the others when their nodes say so. Safe to repeat. @throws RequestNotFoundError */
  async cancelRequest(queue: StoredQueue, id: string): Promise<RequestView> {
    const args = [id, queue.settings.keepMs];
    const word = await this.cancel(CANCEL_REQUEST, queue, id, args);
    if (word === 'MISSING') throw new RequestNotFoundError(queue.name);
    return this.get(queue, id);
  }

  private async cancel(
    script: RedisScript,
    { name, keys }: StoredQueue,
    request: string,
    args: readonly (string | number)[],
  ): Promise<Cancelled> {
    return (await script.run(this.redis, jobKeys(keys, this.names.request(name, request)), args)) as Cancelled;
  }

  private async require(queue: string, id: string): Promise<Fields> {
    const fields = await this.fieldsOf(queue, id);
    if (!fields) throw new RequestNotFoundError(queue);
    return fields;
  }

  private async fieldsOf(queue: string, id: string): Promise<Fields | undefined> {
    if (!/^[0-9a-f]{24}$/.test(id)) return undefined;
    const fields = await redisCall(this.redis.hgetall(this.names.request(queue, id).request));
    return fields['total'] === undefined ? undefined : fields;
  }

  private async views(queue: string, request: Fields, numbers: readonly number[]): Promise<JobView[]> {
    if (numbers.length === 0) return [];
    const keys = this.names.request(queue, request['id'] ?? '');
    const [records, payloads] = await redisCall(
      Promise.all([
        this.redis.hmget(keys.jobs, ...numbers.flatMap((number) => [String(number), `${number} log`])),
        this.redis.hmget(keys.payloads, ...numbers.map(String)),
      ]),
    );
    return numbers.map((number, n) =>
      jobView(request, number, { record: records[n * 2], log: records[n * 2 + 1], payload: payloads[n] }),
    );
  }
}

function requireJobId(queue: string, id: string): { request: string; number: number } {
  const read = readJobId(id);
  if (!read) throw new JobNotFoundError(queue);
  return read;
}

function requestView(fields: Fields): RequestView {
  return {
    id: fields['id'] ?? '',
    requestId: fields['requestId'] || null,
    owner: fields['owner'] || null,
    priority: Number(fields['priority']),
    total: Number(fields['total']),
    jobs: countsOf(fields),
    acceptedAt: isoOf(Number(fields['acceptedAt'])) ?? '',
    endedAt: isoOf(fields['endedAt'] === undefined ? undefined : Number(fields['endedAt'])),
  };
}

/** The counts in the hash of a queue or of a request. */
export function countsOf(fields: Fields): JobCounts {
  return Object.fromEntries(JOB_STATES.map((state) => [state, Number(fields[state] ?? 0)])) as JobCounts;
}

interface StoredJob {
  record: string | null | undefined;
  log: string | null | undefined;
  payload: string | null | undefined;
}

/** Jobs that were never started have no record, and those that wait when their request is cancelled keep the one that they have. */
function jobView(request: Fields, number: number, { record: text, log, payload }: StoredJob): JobView {
  const id = request['id'] ?? '';
  const unstarted: JobRecord = { state: 'waiting', attempt: 0, waitingAt: Number(request['acceptedAt']) };
  const record = text ? readRecord(text) : unstarted;
  const isDropped = record.state === 'waiting' && request['cancelledAt'] !== undefined;
  const endedAt = isDropped ? Number(request['cancelledAt']) : record.endedAt;
  return {
    id: jobIdOf(id, number),
    request: id,
    state: isDropped ? 'cancelled' : record.state,
    node: record.node ?? null,
    externalId: record.externalId ?? null,
    attempts: record.attempt,
    reason: record.reason ?? null,
    payload: JSON.parse(payload ?? '{}') as JobView['payload'],
    waitingAt: isoOf(record.waitingAt),
    startingAt: isoOf(record.startingAt),
    runningAt: isoOf(record.runningAt),
    endedAt: isoOf(endedAt),
    log: logOf(log ?? ''),
  };
}

function logOf(text: string): JobView['log'] {
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => {
    const space = line.indexOf(' ');
    return { at: isoOf(Number(line.slice(0, space))) ?? '', line: line.slice(space + 1) };
  });
}

function isoOf(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}

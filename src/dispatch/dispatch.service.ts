import { Inject, Injectable } from '@nestjs/common';
import { ValidationFailedError } from '../errors/domain.errors.js';
import { parseInput } from '../errors/parse.input.js';
import { type Page, type PageRequest, pageOf, pageRequestSchema, readCursor } from '../pool/page.js';
import { PoolService } from '../pool/pool.service.js';
import { redisCall } from '../redis/redis.call.js';
import type { RedisClient } from '../redis/redis.client.js';
import { RedisScript } from '../redis/redis.script.js';
import { REDIS_CLIENT } from '../redis/redis.tokens.js';
import { loadScript } from '../redis/script.loader.js';
import { hasLifecycle } from '../selection/leases/lease.lifecycle.js';
import { StrategyRegistry } from '../selection/strategies/strategy.registry.js';
import { LauncherUnknownError, QueueBusyError, QueueNotFoundError } from './dispatch.errors.js';
import { DispatchLine } from './dispatch.line.js';
import { DISPATCH_OPTIONS, type DispatchOptions } from './dispatch.options.js';
import type { JobCounts, JobRequest, JobView, RequestView } from './job.types.js';
import { LauncherRegistry } from './launcher/launcher.registry.js';
import { type NodeRest, NodeRests } from './node.rests.js';
import { QueueDirectory, type StoredQueue } from './queue.directory.js';
import { QueueKeyNames } from './queue.keys.js';
import {
  type CheckedQueueChanges,
  type QueueChanges,
  type QueueSettings,
  REQUIRED,
  mergeQueueSettings,
  queueChangesSchema,
  queueFields,
  queueNameSchema,
} from './queue.settings.js';
import { RequestCatalogue, countsOf } from './request.catalogue.js';
import { RequestIntake, type RequestReceipt } from './request.intake.js';

const PUT = new RedisScript(loadScript('dispatch/put.lua'));
const DELETE = new RedisScript(loadScript('dispatch/delete.lua'));
const REQUESTS_AT_ONCE = 100;
/** A lease must outlive the change from a process that died to another. */
const TAKEOVERS_A_LEASE = 3;

/** A node of a queue that has jobs, or gets none for a while. */
export interface QueueNodeView {
  id: string;
  starting: number;
  running: number;
  /** Until when it gets no job, and why; null where it may get one. */
  restsUntil: string | null;
  reason: string | null;
}

/** A queue as it is now; `finished`, `failed`, `cancelled` and `lost` count all jobs since it was made. */
export interface QueueView extends QueueSettings, JobCounts {
  name: string;
  paused: boolean;
  /** Why nothing was started when that was last tried, such as `AT_CAPACITY`; null where something was. */
  blocked: string | null;
  nodes: QueueNodeView[];
}

/** Queues of jobs: sets them up, takes requests, shows and cancels them. */
@Injectable()
export class DispatchService {
  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    @Inject(DISPATCH_OPTIONS) private readonly options: DispatchOptions,
    private readonly names: QueueKeyNames,
    private readonly queues: QueueDirectory,
    private readonly pools: PoolService,
    private readonly strategies: StrategyRegistry,
    private readonly launchers: LauncherRegistry,
    private readonly rests: NodeRests,
    private readonly intake: RequestIntake,
    private readonly catalogue: RequestCatalogue,
    private readonly line: DispatchLine,
  ) {}

  /**
   * Creates a queue, or changes the settings that are given. Safe to repeat.
   *
   * @throws ValidationFailedError | PoolNotFoundError | LauncherUnknownError | QueueBusyError while it is being deleted
   */
  async put(name: string, changes: QueueChanges = {}): Promise<{ created: boolean; queue: QueueView }> {
    const created = await this.write(name, changes, 'put');
    return { created, queue: await this.get(name) };
  }

  /**
   * Changes the settings that are given: a lower limit ends nothing, and a higher one has effect at once.
   *
   * @throws QueueNotFoundError | ValidationFailedError | PoolNotFoundError | LauncherUnknownError
   */
  async patch(name: string, changes: QueueChanges): Promise<QueueView> {
    await this.write(name, changes, 'patch');
    return this.get(name);
  }

  /** Starts nothing more until it is resumed; what runs goes on. @throws QueueNotFoundError */
  pause(name: string): Promise<QueueView> {
    return this.setPaused(name, true);
  }

  /** @throws QueueNotFoundError */
  resume(name: string): Promise<QueueView> {
    return this.setPaused(name, false);
  }

  /** @throws QueueNotFoundError */
  async get(name: string): Promise<QueueView> {
    return this.view(await this.queues.read(name));
  }

  /** Queues in the order of their names. */
  async list(request: PageRequest = {}): Promise<Page<'queues', QueueView>> {
    const { limit, cursor } = parseInput(pageRequestSchema, request);
    const from = cursor === undefined ? '-' : `(${readCursor(cursor)}`;
    const found = await redisCall(this.redis.zrangebylex(this.names.queues(), from, '+', 'LIMIT', 0, limit + 1));
    const { items, nextCursor } = pageOf(found, limit, (name) => name);
    const stored = await Promise.all(items.map((name) => this.queues.find(name)));
    const queues = await Promise.all(stored.filter((queue) => queue !== undefined).map((queue) => this.view(queue)));
    return { queues, nextCursor };
  }

  /**
   * Deletes a queue with its requests. Safe to repeat.
   *
   * @param options `force`: also where jobs wait, which are never started then
   * @throws QueueNotFoundError | QueueBusyError while jobs are starting or running
   */
  async delete(name: string, { force = false } = {}): Promise<void> {
    parseInput(queueNameSchema, name, 'queue');
    const { requests, queue, active, ...others } = this.names.queue(name);
    const keys = [queue, active, requests, ...Object.values(others)];
    for (;;) {
      const word = (await DELETE.run(this.redis, keys, [force ? '1' : ''])) as 'BEGUN' | 'DELETED' | 'MISSING' | 'BUSY';
      if (word === 'MISSING') throw new QueueNotFoundError(name);
      if (word === 'BUSY') throw new QueueBusyError(name);
      if (word === 'DELETED') break;
      await this.deleteRequests(name, requests);
    }
    await redisCall(this.redis.zrem(this.names.queues(), name));
  }

  /**
   * Takes in a request: its jobs wait in line from now on, and none is lost. The same `requestId` twice is one request.
   *
   * @throws QueueNotFoundError | ValidationFailedError | RequestIdReusedError | QueueFullError
   */
  async submit(queue: string, request: JobRequest): Promise<RequestReceipt> {
    const receipt = await this.intake.take(queue, request);
    this.line.fill(queue);
    return receipt;
  }

  /** Requests that are kept, in the order of their arrival. @throws QueueNotFoundError */
  async listRequests(queue: string, page?: PageRequest): Promise<Page<'requests', RequestView>> {
    return this.catalogue.list(await this.queues.read(queue), page);
  }

  /** @throws QueueNotFoundError | RequestNotFoundError */
  async getRequest(queue: string, id: string): Promise<RequestView> {
    return this.catalogue.get(await this.queues.read(queue), id);
  }

  /** @throws QueueNotFoundError | RequestNotFoundError */
  async listJobs(queue: string, request: string, page?: PageRequest): Promise<Page<'jobs', JobView>> {
    return this.catalogue.listJobs(await this.queues.read(queue), request, page);
  }

  /** @throws QueueNotFoundError | JobNotFoundError */
  async getJob(queue: string, id: string): Promise<JobView> {
    return this.catalogue.getJob(await this.queues.read(queue), id);
  }

  /** One that has begun ends when its node says so. Safe to repeat. @throws QueueNotFoundError | JobNotFoundError */
  async cancelJob(queue: string, id: string): Promise<JobView> {
    return this.catalogue.cancelJob(await this.queues.read(queue), id);
  }

  /** The jobs that wait end at once, the others when their nodes say so. @throws QueueNotFoundError | RequestNotFoundError */
  async cancelRequest(queue: string, id: string): Promise<RequestView> {
    return this.catalogue.cancelRequest(await this.queues.read(queue), id);
  }

  private async setPaused(name: string, paused: boolean): Promise<QueueView> {
    await this.queues.read(name);
    await this.run(name, 'patch', ['paused', String(paused)]);
    if (!paused) this.line.fill(name);
    return this.get(name);
  }

  /** @returns whether it was created */
  private async write(name: string, changes: QueueChanges, mode: 'put' | 'patch'): Promise<boolean> {
    parseInput(queueNameSchema, name, 'queue');
    const checked = parseInput(queueChangesSchema, changes);
    const current = await this.queues.find(name);
    if (!current && mode === 'patch') throw new QueueNotFoundError(name);
    const settings = await this.check(checked, current?.settings);
    const given = Object.fromEntries(
      Object.keys(checked).map((field) => [field, settings[field as keyof QueueSettings]]),
    );
    await redisCall(this.redis.zadd(this.names.queues(), 0, name));
    const word = await this.run(name, mode, queueFields(given), queueFields(settings));
    this.line.fill(name);
    return word === 'CREATED';
  }

  private async run(name: string, mode: 'put' | 'patch', given: string[], defaults: string[] = []): Promise<string> {
    const args = [mode, given.length, ...given, ...defaults];
    const word = (await PUT.run(this.redis, [this.names.queue(name).queue], args)) as string;
    if (word === 'MISSING') throw new QueueNotFoundError(name);
    if (word === 'DELETING') throw new QueueBusyError(name);
    return word;
  }

  /** The settings that come of changes, which must go together. */
  private async check(changes: CheckedQueueChanges, current: QueueSettings | undefined): Promise<QueueSettings> {
    const merged = mergeQueueSettings(changes, current);
    for (const field of REQUIRED) if (merged[field] === undefined) throw refused(field, 'is needed for a new queue');
    const settings = merged as QueueSettings;
    const { type, ...options } = settings.launcher;
    const launcher = this.launchers.find(type);
    if (!launcher) throw new LauncherUnknownError(type, this.launchers.names());
    if (changes.launcher) settings.launcher = { type, ...(launcher.parseOptions(options) as object) };
    const leastTtlMs = this.options.takeoverMs * TAKEOVERS_A_LEASE;
    if (settings.leaseTtlMs < leastTtlMs) throw refused('leaseTtlMs', `must be at least ${leastTtlMs} here`);
    await this.checkPool(settings);
    return settings;
  }

  private async checkPool({ pool: name, leaseTtlMs }: QueueSettings): Promise<void> {
    const pool = await this.pools.get(name);
    if (!hasLifecycle(this.strategies.get(pool.strategy))) {
      throw refused('pool', `must have leases; "${name}" has the strategy "${pool.strategy}"`);
    }
    const { maxTtlMs } = pool.lease;
    if (leaseTtlMs > maxTtlMs) throw refused('leaseTtlMs', `must be at most the pool's lease.maxTtlMs, ${maxTtlMs}`);
  }

  private async deleteRequests(queue: string, key: string): Promise<void> {
    const ids = await redisCall(this.redis.zrange(key, 0, String(REQUESTS_AT_ONCE - 1)));
    if (ids.length === 0) return;
    await redisCall(
      this.redis.unlink(...ids.flatMap((id) => Object.values(this.names.request(queue, id) as object) as string[])),
    );
    await redisCall(this.redis.zrem(key, ...ids));
  }

  private async view(queue: StoredQueue): Promise<QueueView> {
    const { name, settings, fields, keys } = queue;
    const [counts, rests] = await Promise.all([redisCall(this.redis.hgetall(keys.nodes)), this.rests.read(queue)]);
    return {
      name,
      ...settings,
      paused: fields['paused'] === 'true',
      ...countsOf(fields),
      blocked: fields['blocked'] ?? null,
      nodes: nodeViews(counts, rests),
    };
  }
}

function nodeViews(counts: Readonly<Record<string, string>>, rests: ReadonlyMap<string, NodeRest>): QueueNodeView[] {
  const withJobs = Object.keys(counts).map((field) => field.slice(field.indexOf(' ') + 1));
  return [...new Set([...withJobs, ...rests.keys()])].sort().map((id) => {
    const rest = rests.get(id);
    return {
      id,
      starting: Number(counts[`starting ${id}`] ?? 0),
      running: Number(counts[`running ${id}`] ?? 0),
      restsUntil: rest ? new Date(rest.untilMs).toISOString() : null,
      reason: rest?.reason ?? null,
    };
  });
}

function refused(path: string, message: string): ValidationFailedError {
  return new ValidationFailedError(`"${path}" ${message}.`, [{ path, message }]);
}

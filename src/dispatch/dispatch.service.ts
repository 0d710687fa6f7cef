import { Inject, Injectable } from '@nestjs/common';
import { parseInput } from '../errors/parse.input.js';
import { type Page, type PageRequest, pageOf, pageRequestSchema, readCursor } from '../pool/page.js';
import { redisCall } from '../redis/redis.call.js';
import type { RedisClient } from '../redis/redis.client.js';
import { RedisScript } from '../redis/redis.script.js';
import { REDIS_CLIENT } from '../redis/redis.tokens.js';
import { loadScript } from '../redis/script.loader.js';
import { QueueBusyError, QueueNotFoundError } from './dispatch.errors.js';
import { DispatchLine } from './dispatch.line.js';
import type { JobRequest, JobView, RequestView } from './job.types.js';
import { NodeRests } from './node.rests.js';
import { QueueChecks } from './queue.checks.js';
import { QueueDirectory, type StoredQueue } from './queue.directory.js';
import { QueueKeyNames } from './queue.keys.js';
import { type QueueChanges, queueChangesSchema, queueFields, queueNameSchema } from './queue.settings.js';
import { type QueueView, queueView } from './queue.view.js';
import { RequestCatalogue } from './request.catalogue.js';
import { RequestIntake, type RequestReceipt } from './request.intake.js';

const PUT = new RedisScript(loadScript('dispatch/put.lua'));
const DELETE = new RedisScript(loadScript('dispatch/delete.lua'));
const REQUESTS_AT_ONCE = 100;

/** Queues of jobs: sets them up, takes requests, shows and cancels them. */
@Injectable()
export class DispatchService {
  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly names: QueueKeyNames,
    private readonly queues: QueueDirectory,
    private readonly checks: QueueChecks,
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
    // One of that name may have been created meanwhile.
    if (await this.queues.find(name)) await redisCall(this.redis.zadd(this.names.queues(), 0, name));
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
    const settings = await this.checks.check(checked, current?.settings);
    const given = checked.launcher ? { ...checked, launcher: settings.launcher } : checked;
    const list = () => redisCall(this.redis.zadd(this.names.queues(), 0, name));
    // Before, lest it be hidden should this process die; after, since a deletion may have taken it away between.
    if (mode === 'put') await list();
    const word = await this.run(name, mode, queueFields(given), queueFields(settings));
    if (word === 'CREATED') await list();
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

  private async deleteRequests(queue: string, key: string): Promise<void> {
    const ids = await redisCall(this.redis.zrange(key, 0, String(REQUESTS_AT_ONCE - 1)));
    if (ids.length === 0) return;
    await redisCall(
      this.redis.unlink(...ids.flatMap((id) => Object.values(this.names.request(queue, id) as object) as string[])),
    );
    await redisCall(this.redis.zrem(key, ...ids));
  }

  private async view(queue: StoredQueue): Promise<QueueView> {
    const [counts, rests] = await Promise.all([
      redisCall(this.redis.hgetall(queue.keys.nodes)),
      this.rests.read(queue),
    ]);
    return queueView(queue, counts, rests);
  }
}

import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { DelayedError, type Job, WaitingError, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import type { RedisClient } from '../redis/redis.client.js';
import { REDIS_CLIENT } from '../redis/redis.tokens.js';
import { DISPATCH_OPTIONS, type DispatchOptions } from './dispatch.options.js';
import { LauncherMissingError } from './job.run.js';
import { JobRunner } from './job.runner.js';
import type { AttemptRef } from './job.types.js';
import { QueueKeyNames } from './queue.keys.js';
import { MAX_LIMIT } from './queue.settings.js';
import { RUNS } from './run.queue.js';

/** A run is never given up for having changed hands often. */
const MAX_STALLED = 1_000_000;
/** How long handing the runs over may take. */
const CLOSE_MS = 3_000;
const RETRY_MS = 1_000;
/** Until another process may take on what this one cannot. */
const PASS_ON_MS = 1_000;

/**
 * Takes on runs of jobs, by BullMQ: a process shows every half of `takeoverMs` that it lives; the runs of one that does not are given to others.
 */
@Injectable()
export class RunWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Dispatch');
  private readonly closing = new AbortController();
  private worker: Worker<AttemptRef, void, typeof RUNS> | undefined;
  private connection: RedisClient | undefined;
  private readonly warned = new Set<string>();

  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    @Inject(DISPATCH_OPTIONS) private readonly options: DispatchOptions,
    private readonly names: QueueKeyNames,
    private readonly runner: JobRunner,
  ) {}

  onApplicationBootstrap(): void {
    // Every run listens for it.
    setMaxListeners(0, this.closing.signal);
    const { takeoverMs } = this.options;
    this.connection = connectionBeside(this.redis);
    this.worker = new Worker(RUNS, (job, token) => this.process(job, token), {
      connection: this.connection,
      prefix: this.names.runs(),
      skipVersionCheck: true,
      autorun: false,
      concurrency: MAX_LIMIT,
      lockDuration: takeoverMs,
      stalledInterval: takeoverMs / 2,
      maxStalledCount: MAX_STALLED,
      runRetryDelay: RETRY_MS,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    });
    // Outages of Redis are told by the client for commands.
    this.worker.on('error', () => undefined);
    void this.keepRunning(this.worker);
  }

  /** Runs that are under way go to another process, or wait for one; while Redis is away others find them later. */
  async beforeApplicationShutdown(): Promise<void> {
    this.closing.abort();
    const closed = this.worker?.close().catch(() => undefined);
    await Promise.race([closed, sleep(CLOSE_MS, undefined, { ref: false })]);
    this.connection?.disconnect();
  }

  /** A worker whose first commands fail gives up, and takes on nothing ever after. */
  private async keepRunning(worker: Pick<Worker, 'run'>): Promise<void> {
    const { signal } = this.closing;
    while (!signal.aborted) {
      await worker.run().catch((error: unknown) => this.logger.error(error));
      await sleep(RETRY_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  private async process(job: Job<AttemptRef, void, typeof RUNS>, token?: string): Promise<void> {
    try {
      await this.runner.run(job.data, this.closing.signal);
    } catch (error) {
      if (this.closing.signal.aborted) {
        await job.moveToWait(token);
        throw new WaitingError();
      }
      if (error instanceof LauncherMissingError) {
        this.passedOn(error);
        await job.moveToDelayed(Date.now() + PASS_ON_MS, token);
        throw new DelayedError();
      }
      this.logger.error(error);
      // It is found again as one that nobody watches.
      throw error;
    }
  }

  private passedOn({ message }: LauncherMissingError): void {
    if (this.warned.has(message)) return;
    this.warned.add(message);
    this.logger.warn(`${message} Others must take on the jobs that need it.`);
  }
}

/** A connection that waits for its commands to be answered, and sends them again after an outage, as BullMQ asks for. */
function connectionBeside(redis: RedisClient): RedisClient {
  const own = {
    enableOfflineQueue: true,
    lazyConnect: false,
    maxRetriesPerRequest: null,
    autoResendUnfulfilledCommands: true,
  };
  const connection = redis instanceof Redis ? redis.duplicate(own) : redis.duplicate([], { ...own, redisOptions: own });
  connection.on('error', () => undefined);
  return connection;
}

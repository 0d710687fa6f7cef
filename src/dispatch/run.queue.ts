import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Queue } from 'bullmq';
import type { RedisClient } from '../redis/redis.client.js';
import { translateRedisError } from '../redis/redis.errors.js';
import { REDIS_CLIENT } from '../redis/redis.tokens.js';
import { type AttemptRef, jobIdOf } from './job.types.js';
import { QueueKeyNames } from './queue.keys.js';

/** As BullMQ knows the queue of runs. */
export const RUNS = 'runs';

/** Gives attempts of jobs to whichever process takes them on. */
@Injectable()
export class RunQueue implements OnApplicationShutdown {
  private readonly queue: Queue<AttemptRef, void, typeof RUNS>;

  constructor(@Inject(REDIS_CLIENT) redis: RedisClient, names: QueueKeyNames) {
    this.queue = new Queue(RUNS, {
      connection: redis,
      prefix: names.runs(),
      skipVersionCheck: true,
      skipMetasUpdate: true,
      defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
    });
    this.queue.on('error', () => undefined);
  }

  /** Safe to repeat: an attempt that is in some process's hands stays there. @throws RedisUnavailableError */
  async add(ref: AttemptRef): Promise<void> {
    const jobId = `${ref.queue}/${jobIdOf(ref.request, ref.number)}/${ref.attempt}`;
    try {
      await this.queue.add(RUNS, ref, { jobId });
    } catch (error) {
      throw translateRedisError(error);
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.queue.close();
  }
}

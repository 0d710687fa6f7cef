import { Inject, Injectable } from '@nestjs/common';
import { parseInput } from '../errors/parse.input.js';
import { redisCall } from '../redis/redis.call.js';
import type { RedisClient } from '../redis/redis.client.js';
import { REDIS_CLIENT } from '../redis/redis.tokens.js';
import { QueueNotFoundError } from './dispatch.errors.js';
import { QueueKeyNames, type QueueKeys } from './queue.keys.js';
import { type QueueSettings, queueNameSchema, readQueueSettings } from './queue.settings.js';

/** A queue as it is in Redis. */
export interface StoredQueue {
  readonly name: string;
  readonly settings: QueueSettings;
  readonly keys: QueueKeys;
  /** Besides the settings: whether it is paused, and its counts. */
  readonly fields: Readonly<Record<string, string>>;
}

/** For how long `recent` gives what it read. */
const RECENT_MS = 1_000;
const MAX_REMEMBERED = 1_000;

/** Finds queues by their names. */
@Injectable()
export class QueueDirectory {
  private readonly remembered = new Map<string, { queue: StoredQueue; readAtMs: number }>();

  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly names: QueueKeyNames,
  ) {}

  /** @throws QueueNotFoundError | ValidationFailedError for a name that no queue can have */
  async read(name: string): Promise<StoredQueue> {
    const queue = await this.find(name);
    if (!queue) throw new QueueNotFoundError(name);
    return queue;
  }

  /** Undefined where there is no such queue, or it is being deleted. */
  async find(name: string): Promise<StoredQueue | undefined> {
    parseInput(queueNameSchema, name, 'queue');
    const keys = this.names.queue(name);
    const fields = await redisCall(this.redis.hgetall(keys.queue));
    const settings = readQueueSettings(fields);
    if (!settings) {
      this.remembered.delete(name);
      return undefined;
    }
    const queue = { name, settings, keys, fields };
    if (this.remembered.size >= MAX_REMEMBERED) this.remembered.clear();
    this.remembered.set(name, { queue, readAtMs: performance.now() });
    return queue;
  }

  /** Like `find`, and at most a second old: for those who look again and again. */
  async recent(name: string): Promise<StoredQueue | undefined> {
    const known = this.remembered.get(name);
    return known && performance.now() - known.readAtMs < RECENT_MS ? known.queue : this.find(name);
  }
}

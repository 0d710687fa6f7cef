import { Inject, Injectable } from '@nestjs/common';
import { redisCall } from '../redis/redis.call.js';
import type { RedisClient } from '../redis/redis.client.js';
import { REDIS_CLIENT } from '../redis/redis.tokens.js';
import { serverTimeMs } from '../redis/server.time.js';
import type { StoredQueue } from './queue.directory.js';

const LONGEST_REST_MS = 60_000;
/** How long failures are remembered after the rest. */
const REMEMBER_MS = 600_000;

/** A node that gets no job for a while. */
export interface NodeRest {
  /** By the clock of the Redis server. */
  untilMs: number;
  /** In a row; 0 of a node that is only busy. */
  failures: number;
  reason: string;
}

/** Which nodes a queue starts nothing on for now: one that fails looks idle, and would get every job. */
@Injectable()
export class NodeRests {
  constructor(@Inject(REDIS_CLIENT) private readonly redis: RedisClient) {}

  /** The rests that are not over, by node. */
  async read({ keys }: StoredQueue): Promise<ReadonlyMap<string, NodeRest>> {
    const [rests, nowMs] = await Promise.all([this.all(keys.resting), serverTimeMs(this.redis)]);
    const forgotten = [...rests].filter(([, rest]) => rest.untilMs + REMEMBER_MS < nowMs).map(([node]) => node);
    if (forgotten.length > 0) await redisCall(this.redis.hdel(keys.resting, ...forgotten));
    return new Map([...rests].filter(([, rest]) => rest.untilMs > nowMs));
  }

  /** Its own load is at its capacity, whoever put it there. */
  async busy(queue: StoredQueue, node: string, reason: string): Promise<void> {
    await this.write(queue, node, { failures: 0, reason, restMs: queue.settings.pollMs });
  }

  /** Twice as long after each failure, at most a minute. */
  async failed(queue: StoredQueue, node: string, reason: string): Promise<void> {
    const before = await redisCall(this.redis.hget(queue.keys.resting, node));
    const failures = (before === null ? 0 : (JSON.parse(before) as NodeRest).failures) + 1;
    const restMs = Math.min(queue.settings.retry.backoffMs * 2 ** Math.min(failures - 1, 16), LONGEST_REST_MS);
    await this.write(queue, node, { failures, reason, restMs });
  }

  async clear({ keys }: StoredQueue, node: string): Promise<void> {
    await redisCall(this.redis.hdel(keys.resting, node));
  }

  private async write(
    { keys }: StoredQueue,
    node: string,
    { restMs, ...rest }: Omit<NodeRest, 'untilMs'> & { restMs: number },
  ): Promise<void> {
    const untilMs = (await serverTimeMs(this.redis)) + restMs;
    const key = keys.resting;
    await redisCall(this.redis.hset(key, node, JSON.stringify({ untilMs, ...rest })));
    await redisCall(this.redis.pexpire(key, LONGEST_REST_MS + REMEMBER_MS));
  }

  private async all(key: string): Promise<Map<string, NodeRest>> {
    const fields = await redisCall(this.redis.hgetall(key));
    return new Map(Object.entries(fields).map(([node, text]) => [node, JSON.parse(text) as NodeRest]));
  }
}

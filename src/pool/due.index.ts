import { Inject, Injectable } from '@nestjs/common';
import { redisCall } from '../redis/redis.call.js';
import type { RedisClient } from '../redis/redis.client.js';
import { REDIS_CLIENT } from '../redis/redis.tokens.js';
import { KeyNames, dueEntry } from '../selection/key.names.js';

/** By then what is about to be written has been written. */
const SOON_MS = 1_000;

/** The index of when something is due in which pool: what is in it is looked at by some process, whichever lives. */
@Injectable()
export class DueIndex {
  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly names: KeyNames,
  ) {}

  /** Has somebody look at the pool soon, before something is written that will be due: whoever looks finds out when. */
  register(pool: string): Promise<void> {
    return this.expect(pool, Date.now() + SOON_MS);
  }

  /** Has somebody look at the pool at that time, in ms by the server's clock, if not before. */
  async expect(pool: string, atMs: number): Promise<void> {
    await redisCall(this.redis.zadd(this.names.due(), 'LT', atMs, dueEntry(pool)));
  }
}

import { parseInput } from '../errors/parse.input.js';
import { redisCall } from '../redis/redis.call.js';
import type { RedisClient } from '../redis/redis.client.js';
import { serverTimeMs } from '../redis/server.time.js';
import { dueEntry } from '../selection/key.names.js';
import { poolNameSchema } from './pool.settings.js';

/** By then what is about to be written has been written. */
const SOON_MS = 1_000;

/** The index of when something is due in which pool: what is in it is looked at by some process, whichever lives. */
export class DueIndex {
  /** @param index its key */
  constructor(
    private readonly redis: RedisClient,
    private readonly index: string,
  ) {}

  /** Has somebody look at the pool soon, before something is written that will be due: whoever looks finds out when. */
  async register(pool: string): Promise<void> {
    await this.expect(pool, (await serverTimeMs(this.redis)) + SOON_MS);
  }

  /**
   * Has somebody look at the pool at that time, in ms by the server's clock, if not before.
   *
   * @throws ValidationFailedError for a name that no pool can have: it would be looked at for ever
   */
  async expect(pool: string, atMs: number): Promise<void> {
    parseInput(poolNameSchema, pool, 'pool');
    await redisCall(this.redis.zadd(this.index, 'LT', atMs, dueEntry(pool)));
  }
}

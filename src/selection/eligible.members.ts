import { Inject, Injectable } from '@nestjs/common';
import { redisCall } from '../redis/redis.call.js';
import type { RedisClient } from '../redis/redis.client.js';
import { RedisScript } from '../redis/redis.script.js';
import { REDIS_CLIENT } from '../redis/redis.tokens.js';
import { loadScript } from '../redis/script.loader.js';
import type { SelectionResult } from './selection.types.js';
import { countedKeys, readPick } from './strategies/counted.picks.js';
import type { PoolConfig } from './strategies/selection.strategy.js';

const TAKE = new RedisScript(loadScript('counted/take.lua'));
/** How often a choice may fall on a member that was withdrawn in between before the answer is "none". */
const MAX_CHOICES = 10;

/** What a strategy without Lua of its own is built on: the ids of the eligible members, and one atomic step that counts. */
@Injectable()
export class EligibleMembers {
  constructor(@Inject(REDIS_CLIENT) private readonly redis: RedisClient) {}

  count(pool: PoolConfig): Promise<number> {
    return redisCall(this.redis.zcard(pool.keys.eligible));
  }

  /** Ids in the order of their bytes, at most `limit`, from the one after `after` on. */
  ids(pool: PoolConfig, limit: number, after?: string): Promise<string[]> {
    const from = after === undefined ? '-' : `(${after}`;
    return redisCall(this.redis.zrangebylex(pool.keys.eligible, from, '+', 'LIMIT', 0, limit));
  }

  /** An id at random, each as likely as the other, or null when none is eligible. */
  random(pool: PoolConfig): Promise<string | null> {
    return redisCall<string | null>(this.redis.zrandmember(pool.keys.eligible));
  }

  /**
   * Selects what `choose` chooses: checks that the member is still eligible and counts the selection, in one step. Where
   * the member was withdrawn in between, `choose` is asked again, at most ten times.
   *
   * @param choose an id, or null when it finds none
   */
  async select(pool: PoolConfig, choose: () => Promise<string | null>): Promise<SelectionResult> {
    for (let choice = 0; choice < MAX_CHOICES; choice++) {
      const chosen = [pool.settings.strategy, (await choose()) ?? ''];
      const reply = (await TAKE.run(this.redis, countedKeys(pool), chosen)) as [string];
      if (reply[0] !== 'NOT_ELIGIBLE') return readPick(pool, reply);
    }
    return { selection: null, reason: 'NONE_ELIGIBLE', retryAfterMs: null };
  }
}

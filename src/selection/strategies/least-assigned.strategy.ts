import { Inject, Injectable } from '@nestjs/common';
import type { RedisClient } from '../../redis/redis.client.js';
import { RedisScript } from '../../redis/redis.script.js';
import { REDIS_CLIENT } from '../../redis/redis.tokens.js';
import { loadScript } from '../../redis/script.loader.js';
import type { BatchResult, SelectionRequest, SelectionResult } from '../selection.types.js';
import { COUNTED_INDEX } from './counted.index.js';
import { countedKeys, readPick, readPicks } from './counted.picks.js';
import type { PoolConfig, SelectionStrategy } from './selection.strategy.js';

const SELECT = new RedisScript(loadScript('least-assigned/select.lua'));

/**
 * Hands out the eligible member with the fewest assignments. Cumulative: it reserves nothing, and the count says nothing
 * of work in progress. Weights follow stride scheduling (Waldspurger and Weihl, 1995), in whole numbers.
 */
@Injectable()
export class LeastAssignedStrategy implements SelectionStrategy {
  readonly name = 'least-assigned';
  readonly index = COUNTED_INDEX;

  constructor(@Inject(REDIS_CLIENT) private readonly redis: RedisClient) {}

  async select(pool: PoolConfig, _request: SelectionRequest): Promise<SelectionResult> {
    return readPick(pool, await this.run(pool, 1));
  }

  async selectBatch(pool: PoolConfig, count: number, _request: SelectionRequest): Promise<BatchResult> {
    return readPicks(pool, await this.run(pool, count));
  }

  private run(pool: PoolConfig, count: number): Promise<[string]> {
    return SELECT.run(this.redis, countedKeys(pool), [this.name, count]) as Promise<[string]>;
  }
}

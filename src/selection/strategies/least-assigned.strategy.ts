import { Inject, Injectable } from '@nestjs/common';
import type { RedisClient } from '../../redis/redis.client.js';
import { RedisScript } from '../../redis/redis.script.js';
import { REDIS_CLIENT } from '../../redis/redis.tokens.js';
import { loadScript } from '../../redis/script.loader.js';
import { CallTraffic } from '../calls/call.traffic.js';
import type { BatchResult, SelectionResult } from '../selection.types.js';
import { COUNTED_INDEX } from './counted.index.js';
import { PickCalls } from './pick.calls.js';
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
  private readonly picks: PickCalls;

  constructor(@Inject(REDIS_CLIENT) redis: RedisClient, traffic: CallTraffic) {
    this.picks = new PickCalls(redis, traffic, this.name, SELECT);
  }

  select(pool: PoolConfig): Promise<SelectionResult> {
    return this.picks.one(pool);
  }

  selectBatch(pool: PoolConfig, count: number): Promise<BatchResult> {
    return this.picks.many(pool, count);
  }
}

import { Inject, Injectable } from '@nestjs/common';
import type { RedisClient } from '../../redis/redis.client.js';
import { RedisScript } from '../../redis/redis.script.js';
import { REDIS_CLIENT } from '../../redis/redis.tokens.js';
import { loadScript } from '../../redis/script.loader.js';
import { CallTraffic } from '../calls/call.traffic.js';
import type { BatchResult, SelectionResult } from '../selection.types.js';
import { rankedIndex } from './ranked.index.js';
import { PickCalls } from './pick.calls.js';
import type { PoolConfig, SelectionStrategy } from './selection.strategy.js';

const SELECT = new RedisScript(loadScript('random/select.lua'));

/** Hands out any eligible member, with a chance in proportion to its weight. It reserves nothing. */
@Injectable()
export class RandomStrategy implements SelectionStrategy {
  readonly name = 'random';
  readonly index = rankedIndex('race', 'race');
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

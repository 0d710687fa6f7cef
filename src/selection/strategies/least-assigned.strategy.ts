import { Inject, Injectable } from '@nestjs/common';
import type { RedisClient } from '../../redis/redis.client.js';
import { RedisScript } from '../../redis/redis.script.js';
import { REDIS_CLIENT } from '../../redis/redis.tokens.js';
import { loadScript } from '../../redis/script.loader.js';
import { CallGatherer } from '../calls/call.gatherer.js';
import { CallTraffic } from '../calls/call.traffic.js';
import type { BatchResult, SelectionRequest, SelectionResult } from '../selection.types.js';
import { COUNTED_INDEX } from './counted.index.js';
import { countedKeys, readPick, readPicks } from './counted.picks.js';
import type { PoolConfig, SelectionStrategy } from './selection.strategy.js';

const SELECT = new RedisScript(loadScript('least-assigned/select.lua'));

/** A single pick is so cheap that gathering pays only where there are more to gather. */
const DIRECT_BELOW = 6;

/**
 * Hands out the eligible member with the fewest assignments. Cumulative: it reserves nothing, and the count says nothing
 * of work in progress. Weights follow stride scheduling (Waldspurger and Weihl, 1995), in whole numbers.
 */
@Injectable()
export class LeastAssignedStrategy implements SelectionStrategy {
  readonly name = 'least-assigned';
  readonly index = COUNTED_INDEX;

  private readonly calls = new WeakMap<PoolConfig, CallGatherer<undefined, SelectionResult>>();

  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly traffic: CallTraffic,
  ) {}

  select(pool: PoolConfig, _request: SelectionRequest): Promise<SelectionResult> {
    let calls = this.calls.get(pool);
    if (!calls) {
      calls = new CallGatherer(
        this.traffic,
        DIRECT_BELOW,
        () => this.pick(pool),
        (asks) => this.pickForEach(pool, asks.length),
      );
      this.calls.set(pool, calls);
    }
    return calls.call(undefined);
  }

  async selectBatch(pool: PoolConfig, count: number, _request: SelectionRequest): Promise<BatchResult> {
    return readPicks(pool, await this.run(pool, count));
  }

  private async pick(pool: PoolConfig): Promise<SelectionResult> {
    return readPick(pool, await this.run(pool, 1));
  }

  private async pickForEach(pool: PoolConfig, callers: number): Promise<SelectionResult[]> {
    const { selections, reason } = readPicks(pool, await this.run(pool, callers));
    if (selections.length > 0) return selections.map((selection) => ({ selection, reason, retryAfterMs: null }));
    return Array.from({ length: callers }, () => ({ selection: null, reason, retryAfterMs: null }));
  }

  private run(pool: PoolConfig, count: number): Promise<[string]> {
    return SELECT.run(this.redis, countedKeys(pool), [this.name, count]) as Promise<[string]>;
  }
}

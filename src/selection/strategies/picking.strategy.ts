import { Inject, Injectable } from '@nestjs/common';
import type { RedisClient } from '../../redis/redis.client.js';
import type { RedisScript } from '../../redis/redis.script.js';
import { REDIS_CLIENT } from '../../redis/redis.tokens.js';
import { CallGatherer } from '../calls/call.gatherer.js';
import { CallTraffic } from '../calls/call.traffic.js';
import type { BatchResult, SelectionResult } from '../selection.types.js';
import { countedKeys, readPick, readPicks } from './counted.picks.js';
import type { MemberIndex, PoolConfig, SelectionStrategy } from './selection.strategy.js';

/** A single pick is so cheap that gathering pays only where there are more to gather. */
const DIRECT_BELOW = 6;

/** A strategy that reserves nothing, and whose script picks as often as it is told; single picks travel together. */
@Injectable()
export abstract class PickingStrategy implements SelectionStrategy {
  abstract readonly name: string;
  abstract readonly index: MemberIndex;
  /** Takes the strategy's name and how many picks, and answers in lines. */
  protected abstract readonly script: RedisScript;
  private readonly calls = new WeakMap<PoolConfig, CallGatherer<undefined, SelectionResult>>();

  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly traffic: CallTraffic,
  ) {}

  select(pool: PoolConfig): Promise<SelectionResult> {
    let calls = this.calls.get(pool);
    if (!calls) {
      calls = this.callsOf(pool);
      this.calls.set(pool, calls);
    }
    return calls.call(undefined);
  }

  async selectBatch(pool: PoolConfig, count: number): Promise<BatchResult> {
    return readPicks(pool, await this.run(pool, count));
  }

  private callsOf(pool: PoolConfig): CallGatherer<undefined, SelectionResult> {
    return new CallGatherer(
      this.traffic,
      DIRECT_BELOW,
      async () => readPick(pool, await this.run(pool, 1)),
      (asks) => this.selectForEach(pool, asks.length),
    );
  }

  private async selectForEach(pool: PoolConfig, callers: number): Promise<SelectionResult[]> {
    const { selections, reason } = await this.selectBatch(pool, callers);
    if (selections.length > 0) return selections.map((selection) => ({ selection, reason, retryAfterMs: null }));
    return Array.from({ length: callers }, () => ({ selection: null, reason, retryAfterMs: null }));
  }

  private run(pool: PoolConfig, count: number): Promise<[string]> {
    return this.script.run(this.redis, countedKeys(pool), [this.name, count]) as Promise<[string]>;
  }
}

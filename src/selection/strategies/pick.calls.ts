import type { RedisClient } from '../../redis/redis.client.js';
import type { RedisScript } from '../../redis/redis.script.js';
import { CallGatherer } from '../calls/call.gatherer.js';
import type { CallTraffic } from '../calls/call.traffic.js';
import type { BatchResult, SelectionResult } from '../selection.types.js';
import { countedKeys, readPick, readPicks } from './counted.picks.js';
import type { PoolConfig } from './selection.strategy.js';

/** A single pick is so cheap that gathering pays only where there are more to gather. */
const DIRECT_BELOW = 6;

/** The calls of a strategy that reserves nothing and whose script picks as often as it is told; single ones travel together. */
export class PickCalls {
  private readonly calls = new WeakMap<PoolConfig, CallGatherer<undefined, SelectionResult>>();

  /** @param script which takes the strategy's name and how many picks, and answers in lines */
  constructor(
    private readonly redis: RedisClient,
    private readonly traffic: CallTraffic,
    private readonly strategy: string,
    private readonly script: RedisScript,
  ) {}

  /** @throws PoolOutdatedError */
  one(pool: PoolConfig): Promise<SelectionResult> {
    let calls = this.calls.get(pool);
    if (!calls) {
      calls = this.callsOf(pool);
      this.calls.set(pool, calls);
    }
    return calls.call(undefined);
  }

  /** @throws PoolOutdatedError */
  async many(pool: PoolConfig, count: number): Promise<BatchResult> {
    return readPicks(pool, await this.run(pool, count));
  }

  private callsOf(pool: PoolConfig): CallGatherer<undefined, SelectionResult> {
    return new CallGatherer(
      this.traffic,
      DIRECT_BELOW,
      async () => readPick(pool, await this.run(pool, 1)),
      (asks) => this.forEach(pool, asks.length),
    );
  }

  private async forEach(pool: PoolConfig, callers: number): Promise<SelectionResult[]> {
    const { selections, reason } = await this.many(pool, callers);
    if (selections.length > 0) return selections.map((selection) => ({ selection, reason, retryAfterMs: null }));
    return Array.from({ length: callers }, () => ({ selection: null, reason, retryAfterMs: null }));
  }

  private run(pool: PoolConfig, count: number): Promise<[string]> {
    return this.script.run(this.redis, countedKeys(pool), [this.strategy, count]) as Promise<[string]>;
  }
}

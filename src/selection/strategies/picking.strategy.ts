import { Inject, Injectable } from '@nestjs/common';
import type { RedisClient } from '../../redis/redis.client.js';
import type { RedisScript } from '../../redis/redis.script.js';
import { REDIS_CLIENT } from '../../redis/redis.tokens.js';
import { CallGatherer } from '../calls/call.gatherer.js';
import { CallTraffic } from '../calls/call.traffic.js';
import { isNarrow, narrowingOf } from '../narrowing.js';
import type { BatchResult, SelectionRequest, SelectionResult } from '../selection.types.js';
import { pickKeys, readPick, readPicks } from './counted.picks.js';
import { NarrowedPicks } from './narrowed.picks.js';
import type { MemberIndex, PoolConfig, SelectionStrategy } from './selection.strategy.js';

/** A single pick is so cheap that gathering pays only where there are more to gather. */
const DIRECT_BELOW = 6;

/** What a pool's picks need, made once. */
interface PickCalls {
  keys: readonly string[];
  picks: CallGatherer<undefined, SelectionResult>;
}

/** A strategy that reserves nothing, and whose script picks as often as it is told; single picks travel together. */
@Injectable()
export abstract class PickingStrategy implements SelectionStrategy {
  abstract readonly name: string;
  abstract readonly index: MemberIndex;
  readonly narrows = true;
  /**
   * Takes how many picks, and answers in lines; or ASK, or with fewer, where there is nobody, or somebody on trial: that is for the
   * script of narrowed picks to say and do.
   */
  protected abstract readonly script: RedisScript;
  private readonly calls = new WeakMap<PoolConfig, PickCalls>();

  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly traffic: CallTraffic,
    private readonly narrowed: NarrowedPicks,
  ) {}

  select(pool: PoolConfig, request: SelectionRequest): Promise<SelectionResult> {
    if (isNarrow(request)) return this.selectNarrowed(pool, request);
    return this.callsOf(pool).picks.call(undefined);
  }

  async selectBatch(pool: PoolConfig, count: number, request: SelectionRequest): Promise<BatchResult> {
    return isNarrow(request)
      ? this.narrowed.pick(pool, this.index, count, narrowingOf(pool, request))
      : this.selectSeveral(pool, count);
  }

  private async selectNarrowed(pool: PoolConfig, request: SelectionRequest): Promise<SelectionResult> {
    return firstOf(await this.narrowed.pick(pool, this.index, 1, narrowingOf(pool, request)));
  }

  private callsOf(pool: PoolConfig): PickCalls {
    let calls = this.calls.get(pool);
    if (!calls) {
      const keys = pickKeys(pool);
      const picks = new CallGatherer<undefined, SelectionResult>(
        this.traffic,
        DIRECT_BELOW,
        () => this.selectOne(pool, keys),
        (asks) => this.selectForEach(pool, asks.length),
      );
      calls = { keys, picks };
      this.calls.set(pool, calls);
    }
    return calls;
  }

  /** Nearly every call: no promise more than it takes. */
  private async selectOne(pool: PoolConfig, keys: readonly string[]): Promise<SelectionResult> {
    const reply = await this.run(keys, 1);
    return reply[0] === '' ? readPick(pool, reply) : firstOf(await this.narrowed.pickOn(pool, this.index, 1));
  }

  private async selectSeveral(pool: PoolConfig, count: number): Promise<BatchResult> {
    const reply = await this.run(this.callsOf(pool).keys, count);
    const picked = reply[0] === 'ASK' ? [] : readPicks(pool, reply).selections;
    if (picked.length === count) return { selections: picked, reason: null, retryAfterMs: null };
    const rest = await this.narrowed.pickOn(pool, this.index, count - picked.length);
    return { ...rest, selections: [...picked, ...rest.selections] };
  }

  private run(keys: readonly string[], count: number): Promise<readonly [string, string?]> {
    return this.script.run(this.redis, keys, [count]) as Promise<readonly [string, string?]>;
  }

  private async selectForEach(pool: PoolConfig, callers: number): Promise<SelectionResult[]> {
    const { selections, reason, retryAfterMs } = await this.selectSeveral(pool, callers);
    return Array.from({ length: callers }, (_, n) => {
      const selection = selections[n] ?? null;
      return selection ? { selection, reason: null, retryAfterMs: null } : { selection, reason, retryAfterMs };
    });
  }
}

function firstOf({ selections, reason, retryAfterMs }: BatchResult): SelectionResult {
  return { selection: selections[0] ?? null, reason, retryAfterMs };
}

import { Inject, Injectable } from '@nestjs/common';
import { PoolNotFoundError, RedisUnavailableError } from '../../errors/domain.errors.js';
import { redisCall } from '../../redis/redis.call.js';
import type { RedisClient } from '../../redis/redis.client.js';
import { RedisScript } from '../../redis/redis.script.js';
import { REDIS_CLIENT } from '../../redis/redis.tokens.js';
import { loadScript } from '../../redis/script.loader.js';
import { KeyNames, dueEntry, leaseKeys } from '../key.names.js';
import type { PoolConfig } from '../strategies/selection.strategy.js';
import { CallGatherer } from './call.gatherer.js';
import type { Extended, ExtensionRequest, Settlement } from './lease.lifecycle.js';
import {
  type AcquisitionResult,
  type Reply,
  type Told,
  readAcquisition,
  readExtended,
  readSettlement,
  readTold,
  requireTtl,
} from './lease.replies.js';

/** What a selection asks of the pool. */
export interface Acquisition {
  strategy: string;
  /** One for each lease; the first is the name of the waiter. */
  tokens: readonly string[];
  ttlMs: number | undefined;
  /** What goes beyond a lease at once. */
  wish?: Wish;
}

export interface Wish {
  /** 0 not to wait. */
  waitMs: number;
  /** The channel of this process. */
  process: string;
  /** Of the request, for a repeat with the same requestId. */
  hash: string;
  /** Of a waiter that lost its place. */
  ticket?: string;
  /** Empty for none, as the owner. */
  requestId: string;
  owner: string;
}

/** `keep` the place of a waiter that was handed nothing, `leave` the line, or leave it and give back what was handed over. */
export type PollMode = 'keep' | 'leave' | 'give-back';
const POLL_MODES: Record<PollMode, string> = { keep: '0', leave: '1', 'give-back': '2' };

const ACQUIRE = new RedisScript(loadScript('least-concurrency/acquire.lua'));
const SETTLE = new RedisScript(loadScript('least-concurrency/settle.lua'));
const EXTEND = new RedisScript(loadScript('least-concurrency/extend.lua'));
const TICK = new RedisScript(loadScript('least-concurrency/tick.lua'));
const POLL = new RedisScript(loadScript('least-concurrency/poll.lua'));

/** How often one acquisition may be asked to register the pool first. */
const MAX_REGISTRATIONS = 3;
/** For how many different TTLs of a pool calls are gathered. */
const MAX_TTLS = 16;

/** A lease, and the letter that says how it is to end. */
type Ending = readonly [lease: string, how: string];

/** What is kept for a pool as a process remembers it. */
interface PoolCalls {
  keys: string[];
  settle: CallGatherer<Ending, Settlement>;
  acquire: Map<number | undefined, CallGatherer<string, AcquisitionResult>>;
}

/** Runs the scripts of `lua/least-concurrency`. */
@Injectable()
export class LeaseScripts {
  private readonly calls = new WeakMap<PoolConfig, PoolCalls>();

  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly names: KeyNames,
  ) {}

  /** @throws ValidationFailedError for a TTL above the pool's longest */
  acquire(pool: PoolConfig, ask: Acquisition): Promise<AcquisitionResult> {
    const [token] = ask.tokens;
    if (ask.wish || ask.tokens.length !== 1 || token === undefined) return this.acquireNow(pool, ask);
    return this.gathererOf(pool, ask).call(token);
  }

  /** @param how `stale` only looks, since the caller was given another fence than the lease's */
  settle(pool: PoolConfig, lease: string, how: 'completed' | 'abandoned' | 'forced' | 'stale'): Promise<Settlement> {
    const ask = [lease, how.charAt(0)] as const;
    return how === 'stale' ? this.settleOne(pool, ask) : this.callsOf(pool).settle.call(ask);
  }

  async extend(pool: PoolConfig, requests: readonly ExtensionRequest[]): Promise<Extended[]> {
    const args = requests.flatMap(({ lease, ttlMs, isStale }) => [lease.name, ttlMs ?? '', isStale ? '1' : '0']);
    const reply = await this.run(EXTEND, pool, args);
    requireTtl(reply);
    requirePool(reply, pool);
    return reply.slice(1).map(readExtended);
  }

  async tick(pool: PoolConfig): Promise<{ more: boolean; nextMs: number | null }> {
    const keys = [...this.callsOf(pool).keys, pool.keys.eligible];
    const [more, nextMs] = (await TICK.run(this.redis, keys, [])) as [number, number];
    return { more: more === 1, nextMs: nextMs < 0 ? null : nextMs };
  }

  /** @throws PoolNotFoundError */
  async poll(
    pool: PoolConfig,
    process: string,
    mode: PollMode,
    waiters: readonly { waiter: string; requestId: string }[],
  ): Promise<Told[]> {
    const args = waiters.flatMap(({ waiter, requestId }) => [waiter, requestId]);
    const reply = await this.run(POLL, pool, [process, POLL_MODES[mode], ...args]);
    requirePool(reply, pool);
    return waiters.map((_, n) => readTold(reply, n));
  }

  private async acquireNow(
    pool: PoolConfig,
    { strategy, tokens, ttlMs, wish }: Acquisition,
  ): Promise<AcquisitionResult> {
    let registeredMs = 0;
    for (let attempt = 0; attempt <= MAX_REGISTRATIONS; attempt++) {
      const args = [strategy, ttlMs ?? '', registeredMs, wish ? writeWish(wish) : '', ...tokens];
      const reply = await this.run(ACQUIRE, pool, args);
      if (reply[0] !== 'REGISTER') {
        requireTtl(reply);
        return readAcquisition(reply);
      }
      registeredMs = reply[1] as number;
      // Before the lease: whoever dies in between leaves a look for nothing, not a lease that nobody looks after.
      await redisCall(this.redis.zadd(this.names.due(), 'LT', registeredMs, dueEntry(pool.name, String(reply[2]))));
    }
    throw new RedisUnavailableError(`The pool "${pool.name}" could not be registered in time. Try again.`);
  }

  private async settleOne(pool: PoolConfig, ask: Ending): Promise<Settlement> {
    const reply = await this.run(SETTLE, pool, ask);
    requirePool(reply, pool);
    return readSettlement(reply[1] as string);
  }

  private async settleAll(pool: PoolConfig, asks: readonly Ending[]): Promise<Settlement[]> {
    const reply = await this.run(SETTLE, pool, asks.flat());
    requirePool(reply, pool);
    return asks.map((_, n) => readSettlement(reply[n + 1] as string));
  }

  private callsOf(pool: PoolConfig): PoolCalls {
    let calls = this.calls.get(pool);
    if (!calls) {
      calls = {
        keys: leaseKeys(pool.keys, pool.indexKeys),
        settle: new CallGatherer(
          (ask) => this.settleOne(pool, ask),
          (asks) => this.settleAll(pool, asks),
        ),
        acquire: new Map(),
      };
      this.calls.set(pool, calls);
    }
    return calls;
  }

  private gathererOf(pool: PoolConfig, { strategy, ttlMs }: Acquisition): CallGatherer<string, AcquisitionResult> {
    const { acquire } = this.callsOf(pool);
    let gatherer = acquire.get(ttlMs);
    if (!gatherer) {
      gatherer = new CallGatherer(
        (token) => this.acquireNow(pool, { strategy, tokens: [token], ttlMs }),
        async (tokens) => {
          const found = await this.acquireNow(pool, { strategy, tokens, ttlMs });
          return tokens.map((_, n) => nthOf(found, n));
        },
      );
      if (acquire.size >= MAX_TTLS) acquire.clear();
      acquire.set(ttlMs, gatherer);
    }
    return gatherer;
  }

  private run(script: RedisScript, pool: PoolConfig, args: readonly (string | number)[]): Promise<Reply> {
    return script.run(this.redis, this.callsOf(pool).keys, args) as Promise<Reply>;
  }
}

/** What the n-th of several that asked together gets. */
function nthOf(found: AcquisitionResult, n: number): AcquisitionResult {
  if (found.word !== 'LENT') return found;
  const selection = found.selections[n];
  if (selection) return { word: 'LENT', selections: [selection], shortage: null };
  return found.shortage ?? { word: 'AT_CAPACITY', retryAfterMs: null };
}

/** As lua/least-concurrency/acquire.lua takes it. */
function writeWish({ waitMs, process, hash, ticket = '-', requestId, owner }: Wish): string {
  return `${waitMs} ${process} ${hash} ${ticket} ${requestId}\n${owner}`;
}

/** @throws PoolNotFoundError */
function requirePool([word]: Reply, pool: PoolConfig): void {
  if (word === 'NO_POOL') throw new PoolNotFoundError(pool.name);
}

import { Inject, Injectable } from '@nestjs/common';
import { PoolNotFoundError, RedisUnavailableError } from '../../errors/domain.errors.js';
import { redisCall } from '../../redis/redis.call.js';
import type { RedisClient } from '../../redis/redis.client.js';
import { RedisScript } from '../../redis/redis.script.js';
import { REDIS_CLIENT } from '../../redis/redis.tokens.js';
import { loadScript } from '../../redis/script.loader.js';
import { KeyNames, dueEntry, leaseKeys } from '../key.names.js';
import { type Narrowing, narrowingArguments } from '../narrowing.js';
import type { PoolConfig } from '../strategies/selection.strategy.js';
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
  /** Absent for a request that is content with any member. */
  narrowing?: Narrowing;
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
  /** What the lease is for: an outcome `banned` bans its member there. */
  target: string;
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
/** A lease, and the letter that says how it is to end; `s` only looks, since the caller was given another fence. */
export type Ending = readonly [lease: string, how: string];

/** Runs the scripts of `lua/least-concurrency`. */
@Injectable()
export class LeaseScripts {
  private readonly keysOf = new WeakMap<PoolConfig, string[]>();

  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly names: KeyNames,
  ) {}

  /** @throws ValidationFailedError for a TTL above the pool's longest */
  async acquire(pool: PoolConfig, ask: Acquisition): Promise<AcquisitionResult> {
    const { strategy, tokens, ttlMs, wish, narrowing } = ask;
    const keys = narrowing ? [...this.keys(pool), ...this.narrowingKeys(pool, narrowing)] : this.keys(pool);
    let registeredMs = 0;
    for (let attempt = 0; attempt <= MAX_REGISTRATIONS; attempt++) {
      const args = [strategy, ttlMs ?? '', registeredMs, wish ? writeWish(wish) : '', tokens.join('')];
      if (narrowing) args.push(...narrowingArguments(narrowing));
      const reply = (await ACQUIRE.run(this.redis, keys, args)) as Reply;
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

  /** @throws PoolNotFoundError */
  async settleOne(pool: PoolConfig, [lease, how]: Ending): Promise<Settlement> {
    const reply = await this.run(SETTLE, pool, [how, lease]);
    requirePool(reply, pool);
    return readSettlement(reply[1] as string);
  }

  /** @throws PoolNotFoundError */
  async settle(pool: PoolConfig, endings: readonly Ending[]): Promise<Settlement[]> {
    const hows = endings.map(([, how]) => how).join('');
    const reply = await this.run(SETTLE, pool, [hows, ...endings.map(([lease]) => lease)]);
    requirePool(reply, pool);
    return endings.map((_, n) => readSettlement((reply[1] as string).charAt(n)));
  }

  /** @throws PoolNotFoundError | ValidationFailedError for a TTL above the pool's longest, when nothing was extended */
  async extend(pool: PoolConfig, requests: readonly ExtensionRequest[]): Promise<Extended[]> {
    const args = requests.flatMap(({ lease, ttlMs, isStale }) => [lease.name, ttlMs ?? '', isStale ? '1' : '0']);
    const reply = await this.run(EXTEND, pool, args);
    requireTtl(reply);
    requirePool(reply, pool);
    return reply.slice(1).map(readExtended);
  }

  async tick(pool: PoolConfig): Promise<{ more: boolean; nextMs: number | null }> {
    const keys = [...this.keys(pool), pool.keys.eligible];
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

  private keys(pool: PoolConfig): string[] {
    let keys = this.keysOf.get(pool);
    if (!keys) {
      keys = leaseKeys(pool.keys, pool.indexKeys);
      this.keysOf.set(pool, keys);
    }
    return keys;
  }

  private narrowingKeys({ name, keys }: PoolConfig, { target }: Narrowing): string[] {
    return [keys.sessions, keys.sessionEnds, ...this.names.target(name, target)];
  }

  private run(script: RedisScript, pool: PoolConfig, args: readonly (string | number)[]): Promise<Reply> {
    return script.run(this.redis, this.keys(pool), args) as Promise<Reply>;
  }
}

/** As lua/least-concurrency/acquire.lua takes it. */
function writeWish({ waitMs, process, hash, ticket = '-', requestId, owner, target }: Wish): string {
  return `${waitMs} ${process} ${hash} ${ticket} ${requestId}\n${owner}${target === '' ? '' : `\n${target}`}`;
}

/** @throws PoolNotFoundError */
function requirePool([word]: Reply, pool: PoolConfig): void {
  if (word === 'NO_POOL') throw new PoolNotFoundError(pool.name);
}

import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { RequestIdReusedError, ValidationFailedError } from '../../errors/domain.errors.js';
import { redisCall } from '../../redis/redis.call.js';
import type { RedisClient } from '../../redis/redis.client.js';
import { REDIS_CLIENT } from '../../redis/redis.tokens.js';
import { serverTimeMs } from '../../redis/server.time.js';
import { LeaseCalls } from '../leases/lease.calls.js';
import type { Extended, ExtensionRequest, LeaseLifecycle, Settlement } from '../leases/lease.lifecycle.js';
import { type LeaseName, newToken } from '../leases/lease.name.js';
import type { AcquisitionResult } from '../leases/lease.replies.js';
import { type Acquisition, LeaseScripts } from '../leases/lease.scripts.js';
import { WaitingRoom } from '../leases/waiting.room.js';
import { PoolOutdatedError } from '../pool.outdated.error.js';
import type { BatchResult, SelectionRequest, SelectionResult } from '../selection.types.js';
import { LEASED_INDEX } from './leased.index.js';
import type { PoolConfig, SelectionStrategy } from './selection.strategy.js';

/** The most leases that one batch may ask for. */
const MAX_LEASE_BATCH = 200;

/**
 * Lends the eligible member with the least work in progress for its weight, among equals the one picked longest ago. A
 * lease counts until it is completed, abandoned or expires.
 */
@Injectable()
export class LeastConcurrencyStrategy implements SelectionStrategy, LeaseLifecycle {
  readonly name = 'least-concurrency';
  readonly index = LEASED_INDEX;

  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly calls: LeaseCalls,
    private readonly scripts: LeaseScripts,
    private readonly room: WaitingRoom,
  ) {}

  async select(pool: PoolConfig, request: SelectionRequest, signal?: AbortSignal): Promise<SelectionResult> {
    const { waitMs = 0 } = request;
    if (waitMs > 0) await this.room.open();
    const ask = this.acquisition(request, [newToken()]);
    const found = await this.calls.acquire(pool, ask);
    if (found.word !== 'WAITING') return this.answer(pool, found);
    const { waiter, ticket } = found;
    const { wish } = ask;
    // A repeat that does not wait finds that the first request still does.
    if (!wish || waitMs === 0) return this.nothing(pool);
    const wait = { pool, ask: { ...ask, tokens: [waiter], wish }, ticket, ...(signal && { signal }) };
    const outcome = await this.room.wait(wait);
    if (outcome === 'TIMED_OUT') return this.nothing(pool);
    return 'member' in outcome ? { selection: outcome, reason: null, retryAfterMs: null } : this.answer(pool, outcome);
  }

  async selectBatch(pool: PoolConfig, count: number, request: SelectionRequest): Promise<BatchResult> {
    requireBatch(count, request);
    const tokens = Array.from({ length: count }, newToken);
    const found = await this.scripts.acquire(pool, this.acquisition(request, tokens));
    if (found.word !== 'LENT') {
      const { reason, retryAfterMs } = await this.answer(pool, found);
      return { selections: [], reason, retryAfterMs };
    }
    const { selections } = found;
    if (!found.shortage) return { selections, reason: null, retryAfterMs: null };
    return { selections, reason: 'AT_CAPACITY', retryAfterMs: found.shortage.retryAfterMs };
  }

  settle(
    pool: PoolConfig,
    { name }: LeaseName,
    how: 'completed' | 'abandoned' | 'forced',
    isStale: boolean,
  ): Promise<Settlement> {
    return isStale ? this.scripts.settleOne(pool, [name, 's']) : this.calls.settle(pool, name, how);
  }

  extend(pool: PoolConfig, request: ExtensionRequest): Promise<Extended> {
    return this.calls.extend(pool, request);
  }

  extendAll(pool: PoolConfig, requests: readonly ExtensionRequest[]): Promise<Extended[]> {
    return this.scripts.extend(pool, requests);
  }

  tick(pool: PoolConfig): Promise<{ more: boolean; nextMs: number | null }> {
    return this.scripts.tick(pool);
  }

  private acquisition(request: SelectionRequest, tokens: readonly string[]): Acquisition {
    const { ttlMs, owner = '', requestId = '', waitMs = 0 } = request;
    const plain = { strategy: this.name, tokens, ttlMs };
    if (owner === '' && requestId === '' && waitMs === 0) return plain;
    const hash = requestId === '' ? '-' : hashOf(request);
    return { ...plain, wish: { waitMs, process: this.room.process, hash, requestId, owner } };
  }

  private async answer(pool: PoolConfig, found: AcquisitionResult): Promise<SelectionResult> {
    if (found.word === 'LENT') return { selection: found.selections[0] ?? null, reason: null, retryAfterMs: null };
    if (found.word === 'REUSED') throw new RequestIdReusedError(found.endedAs);
    if (found.word === 'AT_CAPACITY') return { selection: null, reason: found.word, retryAfterMs: found.retryAfterMs };
    const nothing = await this.nothing(pool);
    // Members that are eligible are on their way into this strategy's index.
    if (found.word !== 'NONE' || nothing.reason === 'AT_CAPACITY') throw new PoolOutdatedError(pool.name);
    return nothing;
  }

  /** Why there is nothing to lend. */
  private async nothing({ keys }: PoolConfig): Promise<SelectionResult> {
    const { redis } = this;
    const [eligible, withdrawn, [, firstMs], nowMs] = await redisCall(
      Promise.all([
        redis.exists(keys.eligible),
        redis.exists(keys.withdrawn),
        redis.zrange(keys.leases, '0', '0', 'WITHSCORES'),
        serverTimeMs(redis),
      ]),
    );
    if (eligible === 0)
      return { selection: null, reason: withdrawn > 0 ? 'NONE_ELIGIBLE' : 'EMPTY_POOL', retryAfterMs: null };
    const retryAfterMs = firstMs === undefined ? null : Math.max(0, Number(firstMs) - nowMs);
    return { selection: null, reason: 'AT_CAPACITY', retryAfterMs };
  }
}

function requireBatch(count: number, { requestId }: SelectionRequest): void {
  const refuse = (path: string, message: string) => {
    throw new ValidationFailedError(`"${path}" ${message}.`, [{ path, message }]);
  };
  if (count > MAX_LEASE_BATCH) refuse('count', `must be at most ${MAX_LEASE_BATCH} where selections come with leases`);
  if (requestId !== undefined) refuse('requestId', 'is for single selections where selections come with leases');
}

/** The same for the same request, whatever the order of its fields, and however long it is still to be waited for. */
function hashOf({ requestId: _id, waitMs: _wait, ...rest }: SelectionRequest): string {
  const text = JSON.stringify(Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1)));
  return createHash('sha256').update(text).digest('base64url').slice(0, 16);
}

import { Inject, Injectable } from '@nestjs/common';
import { fingerprintOf } from '../../eligibility/rules/fingerprint.js';
import { RedisUnavailableError, RequestIdReusedError, ValidationFailedError } from '../../errors/domain.errors.js';
import type { RedisClient } from '../../redis/redis.client.js';
import { REDIS_CLIENT } from '../../redis/redis.tokens.js';
import { LeaseCalls } from '../leases/lease.calls.js';
import type { Extended, ExtensionRequest, LeaseLifecycle, Settlement } from '../leases/lease.lifecycle.js';
import { type LeaseName, newToken } from '../leases/lease.name.js';
import type { AcquisitionResult } from '../leases/lease.replies.js';
import { type Acquisition, LeaseScripts } from '../leases/lease.scripts.js';
import { whyInVain, whyNothing } from '../leases/lease.shortage.js';
import { WaitingRoom } from '../leases/waiting.room.js';
import { KeyNames } from '../key.names.js';
import { isNarrow, narrowingOf } from '../narrowing.js';
import { PoolOutdatedError } from '../pool.outdated.error.js';
import type { BatchResult, Selection, SelectionRequest, SelectionResult } from '../selection.types.js';
import { LEASED_INDEX } from './leased.index.js';
import type { PoolConfig, SelectionStrategy } from './selection.strategy.js';

/** The most leases that one batch may ask for. */
const MAX_LEASE_BATCH = 200;
/** How many scripts one request may take; each looks at 4,000 members. */
const MAX_SCRIPTS = 1_000;

/**
 * Lends the eligible member with the least work in progress for its weight, among equals the one picked longest ago. A
 * lease counts until it is completed, abandoned or expires.
 */
@Injectable()
export class LeastConcurrencyStrategy implements SelectionStrategy, LeaseLifecycle {
  readonly name = 'least-concurrency';
  readonly index = LEASED_INDEX;
  readonly narrows = true;

  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly calls: LeaseCalls,
    private readonly scripts: LeaseScripts,
    private readonly room: WaitingRoom,
    private readonly names: KeyNames,
  ) {}

  async select(pool: PoolConfig, request: SelectionRequest, signal?: AbortSignal): Promise<SelectionResult> {
    const { waitMs = 0 } = request;
    if (waitMs > 0) await this.room.open();
    const ask = this.acquisition(pool, request, [newToken()]);
    const found = await this.acquire(pool, ask);
    if (found.word !== 'WAITING') return this.answer(pool, found, ask);
    const { waiter, ticket } = found;
    const { wish } = ask;
    // A repeat that does not wait finds that the first request still does.
    if (!wish || waitMs === 0) return whyInVain(this.redis, this.names, pool, ask);
    const wait = { pool, ask: { ...ask, tokens: [waiter], wish }, ticket, ...(signal && { signal }) };
    const outcome = await this.room.wait(wait);
    if (outcome === 'TIMED_OUT') return whyInVain(this.redis, this.names, pool, ask);
    return 'member' in outcome
      ? { selection: outcome, reason: null, retryAfterMs: null }
      : this.answer(pool, outcome, ask);
  }

  async selectBatch(pool: PoolConfig, count: number, request: SelectionRequest): Promise<BatchResult> {
    requireBatch(count, request);
    const selections: Selection[] = [];
    for (;;) {
      const tokens = Array.from({ length: count - selections.length }, newToken);
      const ask = this.acquisition(pool, request, tokens);
      const found = await this.acquire(pool, ask);
      if (found.word !== 'LENT') {
        const { reason, retryAfterMs } = await this.answer(pool, found, ask);
        return { selections, reason, retryAfterMs };
      }
      selections.push(...found.selections);
      if (!found.shortage) return { selections, reason: null, retryAfterMs: null };
      if (found.shortage.word !== 'MORE') {
        const { reason, retryAfterMs } = await this.answer(pool, found.shortage, ask);
        return { selections, reason, retryAfterMs };
      }
    }
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

  /** Goes on as long as there are more members to look at; those that are banned for a target are passed over once. */
  private async acquire(pool: PoolConfig, ask: Acquisition): Promise<Exclude<AcquisitionResult, { word: 'MORE' }>> {
    for (let scripts = 0; scripts < MAX_SCRIPTS; scripts++) {
      const found = await this.calls.acquire(pool, ask);
      if (found.word !== 'MORE') return found;
    }
    throw new RedisUnavailableError(`Too many members of the pool "${pool.name}" had to be passed over. Try again.`);
  }

  private acquisition(pool: PoolConfig, request: SelectionRequest, tokens: readonly string[]): Acquisition {
    const { ttlMs, owner = '', requestId = '', waitMs = 0, target = '' } = request;
    const plain = {
      strategy: this.name,
      tokens,
      ttlMs,
      ...(isNarrow(request) && { narrowing: narrowingOf(pool, request) }),
    };
    if (owner === '' && requestId === '' && waitMs === 0 && target === '') return plain;
    const hash = requestId === '' ? '-' : hashOf(request);
    return { ...plain, wish: { waitMs, process: this.room.process, hash, requestId, owner, target } };
  }

  private async answer(pool: PoolConfig, found: AcquisitionResult, ask: Acquisition): Promise<SelectionResult> {
    if (found.word === 'LENT') return { selection: found.selections[0] ?? null, reason: null, retryAfterMs: null };
    if (found.word === 'REUSED') throw new RequestIdReusedError(found.endedAs);
    if (found.word === 'AT_CAPACITY') return { selection: null, reason: found.word, retryAfterMs: found.retryAfterMs };
    if (found.word === 'NO_MATCH') return whyNothing(this.redis, this.names, pool, ask, 'NO_MATCH');
    const nothing = await whyNothing(this.redis, this.names, pool, ask);
    // Members that are eligible are on their way into this strategy's index.
    if (found.word !== 'NONE' || nothing.reason === 'AT_CAPACITY') throw new PoolOutdatedError(pool.name);
    return nothing;
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
  return fingerprintOf(rest);
}

import type { PoolConfig } from '../strategies/selection.strategy.js';
import type { LeaseName } from './lease.name.js';
import type { LeaseEnding } from './lease.types.js';

/** What was found of a lease that is to end: it ended now, it had ended before, or there is none such. */
export type Settlement = 'ended-now' | { endedAs: LeaseEnding } | 'stale-fence' | 'unknown';

/** When a lease expires, in milliseconds; or why it was not extended. */
export type Extended = { expiresMs: number } | Exclude<Settlement, 'ended-now'>;

export interface ExtensionRequest {
  lease: LeaseName;
  /** Undefined for the pool's. */
  ttlMs?: number | undefined;
  /** The caller was given another fence than the lease's. */
  isStale?: boolean;
}

/** The second interface of a strategy: what becomes of what it lends. A strategy that reserves nothing has none of it. */
export interface LeaseLifecycle {
  /**
   * Ends a lease once, whoever else does so at the same moment, and hands what that frees to the first who waits.
   *
   * @throws PoolNotFoundError
   */
  settle(
    pool: PoolConfig,
    lease: LeaseName,
    how: 'completed' | 'abandoned' | 'forced',
    isStale: boolean,
  ): Promise<Settlement>;

  /**
   * Pushes an expiry out, never forward.
   *
   * @throws PoolNotFoundError | ValidationFailedError for a TTL above the pool's longest
   */
  extend(pool: PoolConfig, request: ExtensionRequest): Promise<Extended>;

  /**
   * The same for several, in one atomic step.
   *
   * @throws PoolNotFoundError | ValidationFailedError for a TTL above the pool's longest; nothing was extended then
   */
  extendAll(pool: PoolConfig, requests: readonly ExtensionRequest[]): Promise<Extended[]>;

  /**
   * Does one bounded step of what is due in the pool.
   *
   * @returns whether there is more to do at once, and when to look again in ms by the server's clock; null for never
   */
  tick(pool: PoolConfig): Promise<{ more: boolean; nextMs: number | null }>;
}

/** Whether a strategy lends what it selects. */
export function hasLifecycle(strategy: object): strategy is LeaseLifecycle {
  return 'settle' in strategy && 'extend' in strategy && 'tick' in strategy;
}

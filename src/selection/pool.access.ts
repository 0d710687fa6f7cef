import { Injectable } from '@nestjs/common';
import {
  FilterNotDeclaredError,
  FilterNotReadyError,
  NoLeaseLifecycleError,
  RedisUnavailableError,
} from '../errors/domain.errors.js';
import { PoolDirectory, type StoredPool } from '../pool/pool.directory.js';
import { PoolScripts } from '../pool/pool.scripts.js';
import { type LeaseLifecycle, hasLifecycle } from './leases/lease.lifecycle.js';
import { PoolOutdatedError } from './pool.outdated.error.js';
import type { SelectionStrategy } from './strategies/selection.strategy.js';
import { StrategyRegistry } from './strategies/strategy.registry.js';

/** How often a call may find that its copy of the pool is old before it gives up. */
const MAX_ATTEMPTS = 5;

/** Finds a pool and its strategy for a call, and repeats the call when the copy of the pool turns out to be old. */
@Injectable()
export class PoolAccess {
  constructor(
    private readonly directory: PoolDirectory,
    private readonly registry: StrategyRegistry,
    private readonly scripts: PoolScripts,
  ) {}

  /** @throws PoolNotFoundError */
  async with<T>(name: string, work: (pool: StoredPool, strategy: SelectionStrategy) => Promise<T>): Promise<T> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const recalled = attempt === 0 ? this.directory.recall(name) : undefined;
      const pool = recalled ?? (await this.scripts.settled(name));
      try {
        return await work(pool, this.registry.get(pool.settings.strategy));
      } catch (error) {
        const mayBeOld = recalled && (error instanceof FilterNotDeclaredError || error instanceof FilterNotReadyError);
        if (!mayBeOld && !(error instanceof PoolOutdatedError)) throw error;
      }
    }
    throw new RedisUnavailableError(`The pool "${name}" kept changing while it was read. Try again.`);
  }

  /**
   * Like `with`, for what only strategies with leases can do. A copy of the pool that says otherwise is read again first.
   *
   * @throws PoolNotFoundError | NoLeaseLifecycleError
   */
  async withLifecycle<T>(name: string, work: (pool: StoredPool, lifecycle: LeaseLifecycle) => Promise<T>): Promise<T> {
    const recalled = this.directory.recall(name);
    const known = recalled && this.registry.get(recalled.settings.strategy);
    // Leases are named, not picked: a copy that is old finds nothing by their names, which is what is to be said.
    if (known && hasLifecycle(known)) return work(recalled, known);
    const pool = await this.directory.read(name);
    const strategy = this.registry.get(pool.settings.strategy);
    if (!hasLifecycle(strategy)) throw new NoLeaseLifecycleError(name, strategy.name);
    return work(pool, strategy);
  }
}

import { Inject, Injectable } from '@nestjs/common';
import { ValidationFailedError } from '../errors/domain.errors.js';
import { PoolService } from '../pool/pool.service.js';
import { hasLifecycle } from '../selection/leases/lease.lifecycle.js';
import { StrategyRegistry } from '../selection/strategies/strategy.registry.js';
import { LauncherUnknownError } from './dispatch.errors.js';
import { DISPATCH_OPTIONS, type DispatchOptions } from './dispatch.options.js';
import { LauncherRegistry } from './launcher/launcher.registry.js';
import {
  type CheckedQueueChanges,
  type LauncherSettings,
  type QueueSettings,
  REQUIRED,
  mergeQueueSettings,
} from './queue.settings.js';

/** A lease must outlive the change from a process that died to another. */
const TAKEOVERS_A_LEASE = 3;

/** Checks what a queue is set to against what there is: its pool, its launcher, and the options of this process. */
@Injectable()
export class QueueChecks {
  constructor(
    @Inject(DISPATCH_OPTIONS) private readonly options: DispatchOptions,
    private readonly pools: PoolService,
    private readonly strategies: StrategyRegistry,
    private readonly launchers: LauncherRegistry,
  ) {}

  /**
   * The settings that come of changes, which must go together.
   *
   * @throws ValidationFailedError | PoolNotFoundError | LauncherUnknownError
   */
  async check(changes: CheckedQueueChanges, current: QueueSettings | undefined): Promise<QueueSettings> {
    const merged = mergeQueueSettings(changes, current);
    for (const field of REQUIRED) if (merged[field] === undefined) throw refused(field, 'is needed for a new queue');
    const settings = merged as QueueSettings;
    if (changes.launcher) settings.launcher = this.checkLauncher(changes.launcher);
    const leastTtlMs = this.options.takeoverMs * TAKEOVERS_A_LEASE;
    const { leaseTtlMs } = changes;
    if (leaseTtlMs !== undefined && leaseTtlMs < leastTtlMs) {
      throw refused('leaseTtlMs', `must be at least ${leastTtlMs} here`);
    }
    if (!current) settings.leaseTtlMs = Math.max(settings.leaseTtlMs, leastTtlMs);
    // What has become of the pool of a queue is no reason to refuse other changes.
    if (changes.pool !== undefined || leaseTtlMs !== undefined) await this.checkPool(settings);
    return settings;
  }

  private checkLauncher({ type, ...options }: LauncherSettings): LauncherSettings {
    const launcher = this.launchers.find(type);
    if (!launcher) throw new LauncherUnknownError(type, this.launchers.names());
    return { type, ...(launcher.parseOptions(options) as object) };
  }

  private async checkPool({ pool: name, leaseTtlMs }: QueueSettings): Promise<void> {
    const pool = await this.pools.get(name);
    if (!hasLifecycle(this.strategies.get(pool.strategy))) {
      throw refused('pool', `must have leases; "${name}" has the strategy "${pool.strategy}"`);
    }
    const { maxTtlMs } = pool.lease;
    if (leaseTtlMs > maxTtlMs) throw refused('leaseTtlMs', `must be at most the pool's lease.maxTtlMs, ${maxTtlMs}`);
  }
}

function refused(path: string, message: string): ValidationFailedError {
  return new ValidationFailedError(`"${path}" ${message}.`, [{ path, message }]);
}

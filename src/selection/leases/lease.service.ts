import { Injectable } from '@nestjs/common';
import { OutcomeService } from '../../eligibility/health/outcome.service.js';
import type { OutcomeName } from '../../eligibility/health/outcome.types.js';
import { LeaseEndedError, LeaseExpiredError, LeaseNotFoundError, StaleFenceError } from '../../errors/domain.errors.js';
import { parseInput } from '../../errors/parse.input.js';
import type { Page, PageRequest } from '../../pool/page.js';
import { PoolAccess } from '../pool.access.js';
import { LeaseCatalogue } from './lease.catalogue.js';
import type { Extended, Settlement } from './lease.lifecycle.js';
import { type LeaseName, readLeaseId } from './lease.name.js';
import {
  type Abandonment,
  type Completion,
  type Extension,
  type ExtensionBatch,
  type ExtensionResult,
  type LeaseEnding,
  type LeaseView,
  abandonmentSchema,
  completionSchema,
  extensionBatchSchema,
  extensionSchema,
} from './lease.types.js';

/** Ends, extends and shows the leases of pools whose strategy has them. */
@Injectable()
export class LeaseService {
  constructor(
    private readonly access: PoolAccess,
    private readonly catalogue: LeaseCatalogue,
    private readonly outcomes: OutcomeService,
  ) {}

  /** @throws LeaseNotFoundError | LeaseEndedError | LeaseExpiredError | StaleFenceError | NoLeaseLifecycleError */
  async complete(
    pool: string,
    id: string,
    completion?: Completion,
  ): Promise<{ status: 'completed' | 'already-completed' }> {
    const checked = completion === undefined ? {} : parseInput(completionSchema, completion);
    const { outcome, fence } = checked;
    // The lease knows its target only while it lives.
    const target = outcome === 'banned' ? (checked.target ?? (await this.targetOf(pool, id))) : undefined;
    const isNow = await this.end(pool, id, 'completed', fence);
    if (isNow && outcome !== undefined) await this.report(pool, id, outcome, target);
    return { status: isNow ? 'completed' : 'already-completed' };
  }

  /** @throws LeaseNotFoundError | LeaseEndedError | LeaseExpiredError | StaleFenceError | NoLeaseLifecycleError */
  async abandon(
    pool: string,
    id: string,
    abandonment: Abandonment = {},
  ): Promise<{ status: 'abandoned' | 'already-abandoned' }> {
    const { fence } = parseInput(abandonmentSchema, abandonment);
    const isNow = await this.end(pool, id, 'abandoned', fence);
    return { status: isNow ? 'abandoned' : 'already-abandoned' };
  }

  /** Ends a lease whoever holds it; safe to repeat. @throws LeaseNotFoundError | LeaseEndedError | LeaseExpiredError */
  async force(pool: string, id: string): Promise<void> {
    await this.end(pool, id, 'forced', undefined);
  }

  /** Pushes the expiry out, never forward. @throws LeaseNotFoundError | LeaseEndedError | LeaseExpiredError | StaleFenceError */
  async extend(pool: string, id: string, extension: Extension = {}): Promise<{ ttlMs: number; expiresAt: string }> {
    const { ttlMs, fence } = parseInput(extensionSchema, extension);
    return this.access.withLifecycle(pool, async (config, lifecycle) => {
      const lease = nameOf(pool, id);
      const found = await lifecycle.extend(config, { lease, ttlMs, isStale: isStale(lease, fence) });
      const expiresMs = requireExtended(pool, found);
      return { ttlMs: ttlMs ?? config.settings.lease.ttlMs, expiresAt: new Date(expiresMs).toISOString() };
    });
  }

  /** Extends several leases in one step; one that has ended does not stand in the way of the others. */
  async extendBatch(pool: string, batch: ExtensionBatch): Promise<{ leases: ExtensionResult[] }> {
    return this.access.withLifecycle(pool, async (config, lifecycle) => {
      const { leases } = parseInput(extensionBatchSchema, batch);
      const asked = leases.map(({ id, ttlMs }) => ({ id, ttlMs, lease: readLeaseId(id) ?? NO_LEASE }));
      const found = await lifecycle.extendAll(config, asked);
      return { leases: asked.map(({ id }, n) => ({ id, ...statusOf(found[n]) })) };
    });
  }

  list(pool: string, request?: PageRequest): Promise<Page<'leases', LeaseView>> {
    return this.access.withLifecycle(pool, (config) => this.catalogue.list(config, request));
  }

  get(pool: string, id: string): Promise<LeaseView> {
    return this.access.withLifecycle(pool, (config) => this.catalogue.get(config, id));
  }

  private targetOf(pool: string, id: string): Promise<string | undefined> {
    return this.access.withLifecycle(pool, (config) => this.catalogue.targetOf(config, nameOf(pool, id)));
  }

  /** A success is only of use to a pool with health rules; a copy of its settings that is old misses one at most. */
  private async report(pool: string, id: string, outcome: OutcomeName, target: string | undefined): Promise<void> {
    const { memberId, fence } = nameOf(pool, id);
    const isOfUse =
      outcome !== 'success' ||
      (await this.access.withLifecycle(pool, (config) => Promise.resolve(config.settings.health !== null)));
    // A fence is the server's clock in microseconds, or a little more where leases came faster than that.
    if (isOfUse) await this.outcomes.takeIn(pool, [{ id: memberId, outcome, target, beganMs: fence / 1_000 }]);
  }

  /** @returns whether it ended now; false when it had ended the same way before */
  private async end(
    pool: string,
    id: string,
    how: 'completed' | 'abandoned' | 'forced',
    fence: number | undefined,
  ): Promise<boolean> {
    const found = await this.access.withLifecycle(pool, (config, lifecycle) => {
      const lease = nameOf(pool, id);
      return lifecycle.settle(config, lease, how, isStale(lease, fence));
    });
    if (found === 'ended-now') return true;
    const endedAs = requireKnown(pool, found);
    if (endedAs === how) return false;
    throw endedError(endedAs);
  }
}

/** Stands for an id that no lease has. */
const NO_LEASE: LeaseName = { name: '.', fence: 0, memberId: '' };

function nameOf(pool: string, id: string): LeaseName {
  const lease = readLeaseId(id);
  if (!lease) throw new LeaseNotFoundError(pool);
  return lease;
}

function isStale(lease: LeaseName, fence: number | undefined): boolean {
  return fence !== undefined && fence !== lease.fence;
}

function requireKnown(pool: string, found: Exclude<Settlement, 'ended-now'>): LeaseEnding {
  if (found === 'stale-fence') throw new StaleFenceError();
  if (found === 'unknown') throw new LeaseNotFoundError(pool);
  return found.endedAs;
}

function requireExtended(pool: string, found: Extended = 'unknown'): number {
  if (typeof found === 'object' && 'expiresMs' in found) return found.expiresMs;
  throw endedError(requireKnown(pool, found));
}

function endedError(endedAs: LeaseEnding): Error {
  return endedAs === 'completed' || endedAs === 'abandoned'
    ? new LeaseEndedError(endedAs)
    : new LeaseExpiredError(endedAs);
}

function statusOf(found: Extended = 'unknown'): Omit<ExtensionResult, 'id'> {
  if (typeof found !== 'object') return { status: 'unknown' };
  if ('expiresMs' in found) return { status: 'extended', expiresAt: new Date(found.expiresMs).toISOString() };
  return { status: found.endedAs === 'completed' || found.endedAs === 'abandoned' ? 'ended' : 'expired' };
}

import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ValidationFailedError } from '../errors/domain.errors.js';
import { LeaseService } from '../selection/leases/lease.service.js';
import { type ExtensionResult, MAX_EXTENSIONS } from '../selection/leases/lease.types.js';
import { type AttemptRef } from './job.types.js';
import { JobStore, type Seen } from './job.store.js';

/** How often a process says which jobs it watches, and learns which are not wanted. */
export const BEAT_MS = 1_000;
/** A lease is extended when this part of its time is over. */
const EXTEND_AT = 1 / 3;

/** A job that this process watches. */
export interface WatchedJob {
  ref: AttemptRef;
  /** Token of whoever watches it here. */
  owner: string;
  pool: string;
  lease: string;
  leaseTtlMs: number;
  /** Called at every beat. */
  onSeen: (seen: Seen) => void;
}

interface Kept {
  job: WatchedJob;
  extendAtMs: number;
}

/** Keeps the leases of the jobs that this process watches, in batches, and hears of those that are to be cancelled, or are no more its own. */
@Injectable()
export class JobBeats implements OnApplicationShutdown {
  private readonly kept = new Set<Kept>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly store: JobStore,
    private readonly leases: LeaseService,
  ) {}

  /** @returns what ends it */
  keep(job: WatchedJob): () => void {
    // An adopted lease may be near its end.
    const kept = { job, extendAtMs: performance.now() };
    this.kept.add(kept);
    this.timer ??= setInterval(() => void this.beat(), BEAT_MS).unref();
    return () => this.drop(kept);
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
    this.kept.clear();
  }

  private drop(kept: Kept): void {
    this.kept.delete(kept);
    if (this.kept.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** Never rejects: what fails now is repeated at the next beat. */
  private async beat(): Promise<void> {
    const nowMs = performance.now();
    const due = [...this.kept].filter(({ extendAtMs }) => extendAtMs <= nowMs);
    await Promise.allSettled([
      ...batches(this.kept, ({ job }) => job.ref.queue).map((batch) => this.see(batch)),
      ...batches(due, ({ job }) => job.pool).map((batch) => this.extend(batch)),
    ]);
  }

  private async see(batch: readonly Kept[]): Promise<void> {
    const queue = batch[0]?.job.ref.queue ?? '';
    const seen = await this.store.seen(
      queue,
      batch.map(({ job }) => job),
    );
    batch.forEach((kept, n) => {
      const found = seen[n];
      if (found && this.kept.has(kept)) kept.job.onSeen(found);
    });
  }

  private async extend(batch: readonly Kept[]): Promise<void> {
    const pool = batch[0]?.job.pool ?? '';
    const { leases, isShort } = await this.askFor(pool, batch);
    const nowMs = performance.now();
    batch.forEach((kept, n) => {
      const isExtended = leases[n]?.status === 'extended';
      // One whose lease is gone runs on: from then on its node's own count is what keeps others off.
      const againMs = isShort ? 0 : kept.job.leaseTtlMs * EXTEND_AT;
      kept.extendAtMs = isExtended ? nowMs + againMs : Number.POSITIVE_INFINITY;
    });
  }

  /** A pool whose longest TTL was lowered gives what it gives by default, which may be as short as a beat. */
  private async askFor(pool: string, batch: readonly Kept[]): Promise<{ leases: ExtensionResult[]; isShort: boolean }> {
    const ids = batch.map(({ job }) => ({ id: job.lease }));
    const asked = batch.map(({ job }) => ({ id: job.lease, ttlMs: job.leaseTtlMs }));
    try {
      return { ...(await this.leases.extendBatch(pool, { leases: asked })), isShort: false };
    } catch (error) {
      if (!(error instanceof ValidationFailedError)) throw error;
      return { ...(await this.leases.extendBatch(pool, { leases: ids })), isShort: true };
    }
  }
}

/** Those of one name together, in batches that one call may hold. */
function batches(kept: Iterable<Kept>, nameOf: (kept: Kept) => string): Kept[][] {
  const found: Kept[][] = [];
  const open = new Map<string, Kept[]>();
  for (const each of kept) {
    const name = nameOf(each);
    const batch = open.get(name);
    if (batch && batch.length < MAX_EXTENSIONS) {
      batch.push(each);
    } else {
      const next = [each];
      open.set(name, next);
      found.push(next);
    }
  }
  return found;
}

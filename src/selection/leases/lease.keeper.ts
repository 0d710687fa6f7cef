import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ValidationFailedError } from '../../errors/domain.errors.js';
import type { Lease } from '../selection.types.js';
import type { LeaseHandle } from './lease.handle.js';
import { LeaseService } from './lease.service.js';
import { type ExtensionResult, MAX_EXTENSIONS } from './lease.types.js';

/** A lease is extended when this part of its time is over. */
const BEAT_AT = 1 / 3;
/** Leases whose time to be extended is this near go along, so that the beats of one process go out together. */
const ALONG = 1 / 12;
/** After a beat that failed. */
const RETRY_MS = 500;
/** The shortest that can be asked for. */
const MIN_TTL_MS = 1_000;

interface Kept {
  handle: LeaseHandle;
  ttlMs: number;
  /** By the server's clock. */
  expiresMs: number;
  nextBeatMs: number;
}

/** Extends the leases that this process holds, in batches, and tells those who hold one that is lost. */
@Injectable()
export class LeaseKeeper implements OnApplicationShutdown {
  private readonly kept = new Map<LeaseHandle, Kept>();
  private timer: NodeJS.Timeout | undefined;
  private timerMs = Number.POSITIVE_INFINITY;

  constructor(private readonly leases: LeaseService) {}

  keep(handle: LeaseHandle, { ttlMs, expiresAt }: Lease): void {
    const nextBeatMs = performance.now() + ttlMs * BEAT_AT;
    this.kept.set(handle, { handle, ttlMs, expiresMs: Date.parse(expiresAt), nextBeatMs });
    if (nextBeatMs < this.timerMs) this.wakeAt(nextBeatMs);
  }

  release(handle: LeaseHandle): void {
    this.kept.delete(handle);
  }

  onApplicationShutdown(): void {
    clearTimeout(this.timer);
    this.kept.clear();
  }

  /** One timer, for the first beat or the first expiry. */
  private schedule(): void {
    let firstMs = Number.POSITIVE_INFINITY;
    for (const { handle, nextBeatMs } of this.kept.values()) {
      firstMs = Math.min(firstMs, handle.validUntilMs, nextBeatMs);
    }
    this.wakeAt(firstMs);
  }

  private wakeAt(atMs: number): void {
    clearTimeout(this.timer);
    this.timerMs = atMs;
    if (atMs === Number.POSITIVE_INFINITY) return;
    const wake = () => {
      this.beat();
    };
    this.timer = setTimeout(wake, Math.max(1, atMs - performance.now())).unref();
  }

  private beat(): void {
    const nowMs = performance.now();
    const due = new Map<string, Kept[]>();
    for (const each of this.kept.values()) {
      if (each.handle.validUntilMs <= nowMs) {
        each.handle.lose('expired');
      } else if (each.nextBeatMs - each.ttlMs * ALONG <= nowMs) {
        // Until the answer is there.
        each.nextBeatMs = nowMs + RETRY_MS;
        const group = due.get(each.handle.pool);
        if (group) group.push(each);
        else due.set(each.handle.pool, [each]);
      }
    }
    for (const [pool, kept] of due) {
      for (let at = 0; at < kept.length; at += MAX_EXTENSIONS)
        void this.extend(pool, kept.slice(at, at + MAX_EXTENSIONS));
    }
    this.schedule();
  }

  /** Never rejects: a beat that fails is repeated, until the leases are lost. */
  private async extend(pool: string, kept: readonly Kept[]): Promise<void> {
    const answers = await this.ask(pool, kept).catch(() => undefined);
    if (!answers) return;
    const nowMs = performance.now();
    kept.forEach((each, n) => {
      if (!this.kept.has(each.handle)) return;
      const answer = answers[n];
      if (answer?.expiresAt === undefined) {
        each.handle.lose('expired');
        return;
      }
      // By how much the server has pushed it out.
      const expiresMs = Date.parse(answer.expiresAt);
      each.handle.validUntilMs += expiresMs - each.expiresMs;
      each.expiresMs = expiresMs;
      each.nextBeatMs = nowMs + (each.handle.validUntilMs - nowMs) * BEAT_AT;
    });
    this.schedule();
  }

  /** A pool whose longest TTL was lowered gives what it gives by default. */
  private async ask(pool: string, kept: readonly Kept[]): Promise<ExtensionResult[]> {
    const ids = kept.map(({ handle }) => handle.lease?.id ?? '');
    const asked = ids.map((id, n) => ({ id, ttlMs: Math.max(MIN_TTL_MS, kept[n]?.ttlMs ?? 0) }));
    try {
      return (await this.leases.extendBatch(pool, { leases: asked })).leases;
    } catch (error) {
      if (!(error instanceof ValidationFailedError)) throw error;
      return (await this.leases.extendBatch(pool, { leases: ids.map((id) => ({ id })) })).leases;
    }
  }
}

import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { LeaseHandle } from './lease.handle.js';
import { LeaseService } from './lease.service.js';
import { MAX_EXTENSIONS } from './lease.types.js';

/** A lease is extended when this part of its time is over. */
const BEAT_AT = 1 / 3;
/** Leases whose time to be extended is this near go along, so that the beats of one process go out together. */
const ALONG = 1 / 12;
/** After a beat that failed. */
const RETRY_MS = 500;

interface Kept {
  handle: LeaseHandle;
  ttlMs: number;
  nextBeatMs: number;
}

/** Extends the leases that this process holds, in batches, and tells those who hold one that is lost. */
@Injectable()
export class LeaseKeeper implements OnApplicationShutdown {
  private readonly kept = new Map<LeaseHandle, Kept>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly leases: LeaseService) {}

  keep(handle: LeaseHandle, ttlMs: number): void {
    this.kept.set(handle, { handle, ttlMs, nextBeatMs: performance.now() + ttlMs * BEAT_AT });
    this.schedule();
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
    clearTimeout(this.timer);
    if (this.kept.size === 0) return;
    const first = Math.min(
      ...[...this.kept.values()].map(({ handle, nextBeatMs }) => Math.min(handle.validUntilMs, nextBeatMs)),
    );
    this.timer = setTimeout(
      () => {
        this.beat();
      },
      Math.max(1, first - performance.now()),
    ).unref();
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
        const { pool } = each.handle;
        due.set(pool, [...(due.get(pool) ?? []), each]);
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
    const sentMs = performance.now();
    const asked = kept.map(({ handle, ttlMs }) => ({ id: handle.lease?.id ?? '', ttlMs }));
    const answered = await this.leases.extendBatch(pool, { leases: asked }).catch(() => undefined);
    if (!answered) return;
    kept.forEach((each, n) => {
      if (!this.kept.has(each.handle)) return;
      if (answered.leases[n]?.status === 'extended') {
        each.handle.validUntilMs = sentMs + each.ttlMs;
        each.nextBeatMs = sentMs + each.ttlMs * BEAT_AT;
      } else {
        each.handle.lose('expired');
      }
    });
    this.schedule();
  }
}

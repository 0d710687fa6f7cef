import { expect } from '@jest/globals';
import type { Ending, LeaseModel } from './lease.model.js';
import { type Loss, type Real, Step, lose } from './lease.step.js';

/** One of the leases that were ever made. */
abstract class OnLease extends Step {
  constructor(readonly at: number) {
    super();
  }
  override check(model: Readonly<LeaseModel>): boolean {
    return model.made.length > 0;
  }
  protected idIn(model: LeaseModel): string {
    return model.made[Math.floor(this.at * model.made.length)] ?? '';
  }
}

const END_ERRORS = {
  completed: 'LEASE_ENDED',
  abandoned: 'LEASE_ENDED',
  expired: 'LEASE_EXPIRED',
  forced: 'LEASE_EXPIRED',
};

export class End extends OnLease {
  constructor(
    at: number,
    readonly how: 'completed' | 'abandoned' | 'forced',
    readonly loss: Loss,
  ) {
    super(at);
  }
  protected async step(model: LeaseModel, real: Real): Promise<void> {
    const id = this.idIn(model);
    const before = model.look(id);
    const isLost = this.loss !== 'none' && this.how === 'completed';
    if (isLost) await lose(real, this.loss, () => real.lossy.complete(real.pool, id));
    const call = this.call(real, id);
    if (typeof before !== 'string') {
      // The reply that was lost may have been that the script is not known, to a call that did nothing.
      const statuses: string[] = isLost && this.loss === 'reply' ? [this.how, `already-${this.how}`] : [this.how];
      const answer = (await call) as { status: string } | undefined;
      expect(statuses).toContain(answer?.status ?? 'forced');
      model.end(before, this.how);
    } else if (before === this.how) {
      expect(await call).toEqual(this.how === 'forced' ? undefined : { status: `already-${this.how}` });
    } else {
      await expect(call).rejects.toMatchObject({ code: END_ERRORS[before], endedAs: before });
    }
  }
  private call({ pool, leases }: Real, id: string): Promise<unknown> {
    if (this.how === 'completed') return leases.complete(pool, id);
    return this.how === 'abandoned' ? leases.abandon(pool, id) : leases.force(pool, id);
  }
  toString = () => `${this.how}(${this.at}, ${this.loss})`;
}

/** Many calls at once, several for the same lease: they go out together. */
export class CompleteMany extends Step {
  constructor(readonly at: readonly number[]) {
    super();
  }
  override check(model: Readonly<LeaseModel>): boolean {
    return model.made.length > 0;
  }
  protected async step(model: LeaseModel, { pool, leases }: Real): Promise<void> {
    const ids = this.at.map((each) => model.made[Math.floor(each * model.made.length)] ?? '');
    const answers = await Promise.allSettled(ids.map((lease) => leases.complete(pool, lease)));
    for (const lease of new Set(ids)) {
      const before = model.look(lease);
      const own = answers.filter((_, n) => ids[n] === lease);
      const now = own.filter((answer) => answer.status === 'fulfilled' && answer.value.status === 'completed');
      const again = own.filter(
        (answer) => answer.status === 'fulfilled' && answer.value.status === 'already-completed',
      );
      const isLive = typeof before !== 'string';
      expect(now).toHaveLength(isLive ? 1 : 0);
      expect(again).toHaveLength(isLive ? own.length - 1 : before === 'completed' ? own.length : 0);
      if (isLive) model.end(before, 'completed');
    }
  }
  toString = () => `completeMany(${this.at.join()})`;
}

export class Extend extends OnLease {
  constructor(
    at: number,
    readonly ttlMs: number,
  ) {
    super(at);
  }
  protected async step(model: LeaseModel, { pool, leases }: Real): Promise<void> {
    const id = this.idIn(model);
    const before = model.look(id);
    const call = leases.extend(pool, id, { ttlMs: this.ttlMs });
    if (typeof before === 'string') {
      await expect(call).rejects.toMatchObject({ code: END_ERRORS[before satisfies Ending] });
    } else {
      await call;
      before.expiresMs = Math.max(before.expiresMs, model.nowMs + this.ttlMs);
    }
  }
  toString = () => `extend(${this.at}, ${this.ttlMs})`;
}

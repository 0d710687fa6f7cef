import { expect } from '@jest/globals';
import type { SelectionRequest, SelectionResult } from '../../src/selection/selection.types.js';
import type { LeaseModel, Wish } from './lease.model.js';
import { type Loss, type Real, Step, TTL_MS, lose } from './lease.step.js';

/** Takes over into the model what was selected, if it is what the model would have picked. */
function accept(
  model: LeaseModel,
  result: SelectionResult,
  { requestId = '', ttlMs = TTL_MS, wish = {} }: { requestId?: string; ttlMs?: number; wish?: Wish } = {},
): void {
  model.expire();
  const picked = model.pick(wish);
  if (typeof picked === 'string') {
    expect(result).toMatchObject({ selection: null, reason: picked });
    return;
  }
  expect(result.selection).toMatchObject({ member: { id: picked.id }, assigned: picked.assigned + 1 });
  const lease = result.selection?.lease;
  expect(lease?.fence).toBeGreaterThan(model.lastFence);
  model.lastFence = lease?.fence ?? 0;
  if (wish.session !== undefined) model.sessions.set(wish.session, picked.id);
  model.lend(picked, { id: lease?.id ?? '', expiresMs: model.nowMs + ttlMs, requestId, fence: lease?.fence ?? 0 });
}

export class Select extends Step {
  constructor(readonly ttlMs: number) {
    super();
  }
  protected async step(model: LeaseModel, { pool, selection }: Real): Promise<void> {
    accept(model, await selection.select(pool, { ttlMs: this.ttlMs }), { ttlMs: this.ttlMs });
  }
  toString = () => `select(${this.ttlMs})`;
}

export class SelectBatch extends Step {
  constructor(
    readonly count: number,
    readonly wish: Wish = {},
  ) {
    super();
  }
  override check(model: Readonly<LeaseModel>): boolean {
    return this.wish.labels === undefined || model.hasFilter;
  }
  protected async step(model: LeaseModel, { pool, selection }: Real): Promise<void> {
    const { count, wish } = this;
    const { selections, reason } = await selection.selectBatch(pool, { ...wish, count, ttlMs: TTL_MS });
    for (const each of selections) accept(model, { selection: each, reason: null, retryAfterMs: null }, { wish });
    if (selections.length === count) return;
    model.expire();
    expect(model.pick(wish)).toBe(reason);
  }
  toString = () => `batch(${this.count}, ${JSON.stringify(this.wish)})`;
}

/** A request that is repeated under its requestId until it is answered. */
export class Retry extends Step {
  constructor(
    readonly requestId: string,
    readonly loss: Loss,
  ) {
    super();
  }
  protected async step(model: LeaseModel, real: Real): Promise<void> {
    const { pool, lossy, selection } = real;
    const request: SelectionRequest = { requestId: this.requestId, ttlMs: TTL_MS };
    model.expire();
    const before = model.requests.get(this.requestId);
    await lose(real, this.loss, () => lossy.select(pool, request));
    const call = selection.select(pool, request);
    if (before === undefined) return accept(model, await call, { requestId: this.requestId });
    const found = model.look(before);
    const isGone = typeof found !== 'string' && model.members.get(found.memberId)?.state === 'removed';
    // Nobody can say any more what to use: the lease is given back.
    if (isGone) model.end(found, 'abandoned');
    const known = model.look(before);
    if (typeof known === 'string')
      await expect(call).rejects.toMatchObject({ code: 'REQUEST_ID_REUSED', endedAs: known });
    else expect((await call).selection?.lease?.id).toBe(before);
  }
  toString = () => `retry(${this.requestId}, ${this.loss})`;
}

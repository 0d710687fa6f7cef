import { expect } from '@jest/globals';
import { viewNameOf } from '../../src/eligibility/rules/view.names.js';
import { OutcomeService } from '../../src/eligibility/health/outcome.service.js';
import { KeyNames } from '../../src/selection/key.names.js';
import { poolProblems } from '../support/pool.invariants.js';
import { importMembers } from '../support/selection.app.js';
import type { SelectionSetup } from '../support/use.selection.js';
import { type CountedMember, CountedModel, type Wish } from './counted.model.js';
import type { Operation } from './counted.operations.js';

const POOL = 'shop';
const names = new KeyNames('evenhand');
const keys = names.pool(POOL);

/** A pool with least-assigned and what the model says of it: every operation is done to both, and compared. */
export class CountedPool {
  readonly model = new CountedModel();

  constructor(private readonly setup: SelectionSetup) {}

  async apply(change: Operation): Promise<void> {
    const { model, setup } = this;
    const { pools } = setup.app;
    if ('id' in change && !model.members.has(change.id)) return;
    switch (change.kind) {
      case 'select':
        return this.select(change.wish);
      case 'batch':
        return this.batch(change.wish, change.count);
      case 'ban':
      case 'unban':
        return this.ban(change);
      case 'import':
        await this.import(change);
        return;
      case 'remove':
        await pools.removeMember(POOL, change.id, { forget: change.forget });
        return model.remove(change.id, change.forget);
      case 'patch':
        if (Object.keys(change.changes).length === 0) return;
        await pools.patchMember(POOL, change.id, change.changes);
        return model.change(change.id, change.changes);
      case 'disable':
        await pools.patchMember(POOL, change.id, { state: 'disabled' });
        return model.change(change.id, { isDisabled: true });
      case 'enable':
        await pools.patchMember(POOL, change.id, { state: 'eligible' });
        return model.change(change.id, { isDisabled: false, isCooling: false });
      case 'cool':
        await pools.patchMember(POOL, change.id, { cooldownMs: 600_000 });
        return model.change(change.id, { isCooling: true });
      case 'filters':
        await pools.put(POOL, { filters: change.filters });
        model.filters = change.filters;
        return;
      case 'restore':
        await pools.put(POOL, { restore: change.restore });
        model.restore = change.restore;
        return;
      case 'round trip':
        return this.roundTrip(change.picks);
      case 'forget session':
        await setup.redis.zadd(keys.sessionEnds, 'XX', 1, change.session);
        model.sessions.delete(change.session);
    }
  }

  /** Scores and counts are the model's, and what follows from them in Redis does. */
  async check(): Promise<void> {
    const [counts] = names.index(POOL, 'least-assigned', ['counts']);
    const flat = await this.setup.redis.zrange(counts!, '0', '-1', 'WITHSCORES');
    const scores = Object.fromEntries(flat.flatMap((id, n) => (n % 2 === 0 ? [[id, Number(flat[n + 1])]] : [])));
    expect(scores).toEqual(Object.fromEntries(this.model.eligible().map(({ id, score }) => [id, score])));
    const { members } = await this.setup.app.pools.listMembers(POOL);
    const assigned = [...this.model.members.values()].map((member) => [member.id, member.assigned] as const);
    expect(Object.fromEntries(members.map((member) => [member.id, member.assigned]))).toEqual(
      Object.fromEntries(assigned),
    );
    expect(await poolProblems(this.setup.redis)).toEqual([]);
  }

  private async select(wish: Wish): Promise<void> {
    const { selection: service } = this.setup.app;
    if (!this.model.canAsk(wish)) return refused(service.select(POOL, wish));
    const level = await this.levelFor(wish);
    const { selection, reason } = await service.select(POOL, wish);
    this.expectPick(wish, level, selection ?? reason);
  }

  private async batch(wish: Wish, count: number): Promise<void> {
    const { selection: service } = this.setup.app;
    if (!this.model.canAsk(wish)) return refused(service.selectBatch(POOL, { ...wish, count }));
    const level = await this.levelFor(wish);
    const { selections, reason } = await service.selectBatch(POOL, { ...wish, count });
    for (const selection of selections) this.expectPick(wish, level, selection);
    if (selections.length < count) this.expectPick(wish, level, reason);
  }

  private expectPick(wish: Wish, level: number | null, found: object | string | null): void {
    const picked = this.model.pick(wish, level);
    if (typeof picked === 'string') expect(found).toBe(picked);
    else expect(found).toMatchObject({ member: { id: picked.id }, assigned: picked.assigned });
  }

  /** The score that picks for the target have come to, where any is kept: see lua/include/narrow.lua. */
  private async levelFor({ labels = {}, target }: Wish): Promise<number | null> {
    if (target === undefined || this.model.restore !== 'level') return null;
    const filter = Object.keys(labels).sort();
    const cursor = await this.setup.redis.hget(
      names.target(POOL, target)[1],
      filter.length === 0 ? '' : viewNameOf(filter, labels),
    );
    const [generation, level] = (cursor ?? '0 -').split(' ');
    const floor = ((await this.setup.redis.hget(keys.settings, 'descents')) ?? '0 0').split(' ')[1];
    return Number(generation) > Number(floor) && level !== '-' ? Number(level) : null;
  }

  private async ban({ kind, target, ids }: Extract<Operation, { kind: 'ban' | 'unban' }>): Promise<void> {
    const { model, setup } = this;
    const [bans] = names.target(POOL, target);
    const here = ids.filter((id) => (kind === 'ban' ? model.members.has(id) : model.bans.get(target)?.has(id)));
    for (const id of here) {
      if (kind === 'ban') {
        await setup.app.context.get(OutcomeService).report(POOL, id, { outcome: 'banned', target });
        model.ban(target, id);
      } else {
        await setup.redis.zadd(bans, 'XX', Date.now() - 60_000, id);
        model.bans.get(target)?.delete(id);
      }
    }
  }

  private async import({ ids, weight, labels }: Extract<Operation, { kind: 'import' }>): Promise<void> {
    await importMembers(
      this.setup.app,
      POOL,
      ids.map((id) => ({ id, weight, labels })),
    );
    for (const id of ids) this.model.import(id, weight, labels);
  }

  /** Another strategy picks for a while. */
  private async roundTrip(picks: number): Promise<void> {
    const { pools, selection } = this.setup.app;
    await pools.put(POOL, { strategy: 'least-recently-used' });
    const { selections } = await selection.selectBatch(POOL, { count: picks + 1 });
    await pools.put(POOL, { strategy: 'least-assigned' });
    for (const { member } of selections) {
      const picked: CountedMember | undefined = this.model.members.get(member.id);
      if (picked) picked.assigned++;
    }
    this.model.takeBack();
  }
}

async function refused(call: Promise<unknown>): Promise<void> {
  await expect(call).rejects.toMatchObject({ code: 'FILTER_NOT_DECLARED' });
}

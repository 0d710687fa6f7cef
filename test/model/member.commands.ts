import { KeyNames } from '../../src/selection/key.names.js';
import type { LeaseModel, ModelMember } from './lease.model.js';
import { LABELS, type Real, Step } from './lease.step.js';

export class Admit extends Step {
  constructor(readonly id: string) {
    super();
  }
  protected async step(model: LeaseModel, { pool, pools }: Real): Promise<void> {
    await pools.importMembers(pool, {
      format: 'json',
      body: JSON.stringify({ members: [{ id: this.id, labels: LABELS[this.id] }] }),
    });
    const found = model.members.get(this.id);
    if (found && found.state !== 'removed') return;
    const wasDisabled = disabledWhenRemoved.get(model)?.has(this.id) ?? false;
    const fresh: ModelMember = {
      id: this.id,
      labels: LABELS[this.id] ?? {},
      weight: 1,
      capacity: null,
      state: 'eligible',
      tie: model.picks,
      assigned: 0,
    };
    model.members.set(this.id, {
      ...fresh,
      state: wasDisabled ? 'disabled' : 'eligible',
      assigned: found?.assigned ?? 0,
    });
  }
  toString = () => `admit(${this.id})`;
}

/** A member that was removed while disabled comes back disabled. */
const disabledWhenRemoved = new WeakMap<LeaseModel, Set<string>>();

export class Remove extends Step {
  constructor(readonly id: string) {
    super();
  }
  override check(model: Readonly<LeaseModel>): boolean {
    const state = model.members.get(this.id)?.state;
    return state !== undefined && state !== 'removed';
  }
  protected async step(model: LeaseModel, { pool, pools }: Real): Promise<void> {
    await pools.removeMember(pool, this.id);
    const member = model.members.get(this.id);
    if (!member) return;
    const disabled = disabledWhenRemoved.get(model) ?? new Set();
    if (member.state === 'disabled') disabled.add(this.id);
    else disabled.delete(this.id);
    disabledWhenRemoved.set(model, disabled);
    member.state = 'removed';
  }
  toString = () => `remove(${this.id})`;
}

export interface Patch {
  state?: 'eligible' | 'disabled';
  weight?: number;
  capacity?: number | null;
}

export class Change extends Step {
  constructor(
    readonly id: string,
    readonly changes: Patch,
  ) {
    super();
  }
  override check(model: Readonly<LeaseModel>): boolean {
    const state = model.members.get(this.id)?.state;
    return state !== undefined && state !== 'removed';
  }
  protected async step(model: LeaseModel, { pool, pools }: Real): Promise<void> {
    await pools.patchMember(pool, this.id, this.changes);
    const member = model.members.get(this.id);
    if (!member) return;
    if (this.changes.state === 'eligible' && member.state === 'disabled') member.tie = model.picks;
    Object.assign(member, this.changes);
  }
  toString = () => `change(${this.id}, ${JSON.stringify(this.changes)})`;
}

/** Bans a member for a target, or lets its ban end. */
export class Ban extends Step {
  constructor(
    readonly target: string,
    readonly id: string,
    readonly isOver: boolean,
  ) {
    super();
  }
  override check(model: Readonly<LeaseModel>): boolean {
    const state = model.members.get(this.id)?.state;
    return this.isOver || (state !== undefined && state !== 'removed');
  }
  protected async step(model: LeaseModel, { pool, redis, outcomes }: Real): Promise<void> {
    const { target, id } = this;
    if (this.isOver) {
      await redis.zadd(new KeyNames('evenhand').target(pool, target)[0], 'XX', Date.now() - 60_000, id);
      model.banned.delete(`${target} ${id}`);
    } else {
      await outcomes.report(pool, id, { outcome: 'banned', target });
      model.banned.add(`${target} ${id}`);
    }
  }
  toString = () => `${this.isOver ? 'unban' : 'ban'}(${this.target}, ${this.id})`;
}

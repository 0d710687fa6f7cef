import { expect } from '@jest/globals';
import fc from 'fast-check';
import type { Redis } from 'ioredis';
import type { PoolService } from '../../src/pool/pool.service.js';
import { leaseIdOf, readLeaseName } from '../../src/selection/leases/lease.name.js';
import type { LeaseService } from '../../src/selection/leases/lease.service.js';
import type { SelectionService } from '../../src/selection/selection.service.js';
import type { SelectionRequest, SelectionResult } from '../../src/selection/selection.types.js';
import type { RedisServer } from '../support/redis.server.js';
import type { TcpProxy } from '../support/tcp.proxy.js';
import { waitUntil } from '../support/wait.until.js';
import type { Ending, LeaseModel, ModelMember } from './lease.model.js';

/** The pool under test, reached directly and through a network that loses things. */
export interface Real {
  pool: string;
  server: RedisServer;
  redis: Redis;
  proxy: TcpProxy;
  pools: PoolService;
  selection: SelectionService;
  leases: LeaseService;
  /** Through the proxy. */
  lossy: SelectionService;
}

type Command = fc.AsyncCommand<LeaseModel, Real>;

/** Time passes in whole steps, and every lease ends half way between two: no run is so slow that it decides. */
const STEP_MS = 10_000;
const TTL_MS = 65_000;
const MEMBERS = ['a', 'b', 'c', 'd'];

/** After every step: what Redis holds is what the model says, or has expired and was not settled yet. */
async function checkInvariants(model: LeaseModel, real: Real): Promise<void> {
  const { names, members } = await readQuietly(real);
  const inRedis = new Map<string, number>();
  for (const name of names) {
    const id = name.slice(name.indexOf('.', 23) + 1);
    inRedis.set(id, (inRedis.get(id) ?? 0) + 1);
  }
  const present = [...model.members.values()].filter(({ state }) => state !== 'removed');
  expect(members.map(({ id }) => id)).toEqual(present.map(({ id }) => id).sort());
  for (const { id, inFlight, assigned } of members) {
    expect({ id, inFlight, assigned }).toEqual({
      id,
      inFlight: inRedis.get(id) ?? 0,
      assigned: model.members.get(id)?.assigned,
    });
  }
  const ids = names.map((name) => leaseIdOf(readLeaseName(name)));
  const alive = [...model.live.values()].filter((lease) => lease.expiresMs > model.nowMs).map((lease) => lease.id);
  expect(ids).toEqual(expect.arrayContaining(alive));
  for (const id of ids) expect(model.live.has(id) || model.ended.get(id) === 'expired').toBe(true);
}

/** Leases and members of one moment: what has expired may be settled at any time, also between two reads. */
async function readQuietly({ pool, redis, pools }: Real) {
  const read = () => redis.zrange(`evenhand:{${pool}}:leases`, '0', '-1');
  for (;;) {
    const before = await read();
    const { members } = await pools.listMembers(pool, { limit: 1_000 });
    const names = await read();
    if (names.length === before.length) return { names, members };
  }
}

/** A step that is followed by a check of the invariants. */
abstract class Step implements Command {
  check(_model: Readonly<LeaseModel>): boolean {
    return true;
  }
  async run(model: LeaseModel, real: Real): Promise<void> {
    await this.step(model, real);
    await checkInvariants(model, real);
  }
  protected abstract step(model: LeaseModel, real: Real): Promise<void>;
  abstract toString(): string;
}

/** Takes over into the model what was selected, if it is what the model would have picked. */
function accept(model: LeaseModel, result: SelectionResult, requestId = '', ttlMs = TTL_MS): void {
  model.expire();
  const picked = model.pick();
  if (typeof picked === 'string') {
    expect(result).toMatchObject({ selection: null, reason: picked });
    return;
  }
  expect(result.selection).toMatchObject({ member: { id: picked.id }, assigned: picked.assigned + 1 });
  const lease = result.selection?.lease;
  expect(lease?.fence).toBeGreaterThan(model.lastFence);
  model.lastFence = lease?.fence ?? 0;
  model.lend(picked, { id: lease?.id ?? '', expiresMs: model.nowMs + ttlMs, requestId, fence: lease?.fence ?? 0 });
}

class Select extends Step {
  constructor(readonly ttlMs: number) {
    super();
  }
  protected async step(model: LeaseModel, { pool, selection }: Real): Promise<void> {
    accept(model, await selection.select(pool, { ttlMs: this.ttlMs }), '', this.ttlMs);
  }
  toString = () => `select(${this.ttlMs})`;
}

class SelectBatch extends Step {
  constructor(readonly count: number) {
    super();
  }
  protected async step(model: LeaseModel, { pool, selection }: Real): Promise<void> {
    const { selections, reason } = await selection.selectBatch(pool, { count: this.count, ttlMs: TTL_MS });
    for (const each of selections) accept(model, { selection: each, reason: null, retryAfterMs: null });
    if (selections.length < this.count) expect(model.pick()).toBe(reason);
  }
  toString = () => `batch(${this.count})`;
}

type Loss = 'none' | 'request' | 'reply';

/** Loses a call on the way there or back, which the client is told; then all is well again. */
async function lose(real: Real, loss: Loss, call: () => Promise<unknown>): Promise<void> {
  if (loss === 'none') return;
  if (loss === 'request') real.proxy.dropRequests();
  else real.proxy.dropReplies();
  await expect(call()).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' });
  real.proxy.pass();
  await waitUntil(() => real.lossy.requireReady().then(() => true), { what: 'the connection to be back' });
}

/** A request that is repeated under its requestId until it is answered. */
class Retry extends Step {
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
    if (before === undefined) return accept(model, await call, this.requestId);
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

class End extends OnLease {
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
class CompleteMany extends Step {
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

class Extend extends OnLease {
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

/** Time passes: every expiry comes nearer. */
class Pass extends Step {
  constructor(readonly ms: number) {
    super();
  }
  protected async step(model: LeaseModel, { pool, redis }: Real): Promise<void> {
    const key = `evenhand:{${pool}}:leases`;
    const names = await redis.zrange(key, '0', '-1');
    const shift = redis.multi();
    for (const name of names) shift.zincrby(key, -this.ms, name);
    // Nothing expires before the pool is due.
    const settings = `evenhand:{${pool}}:settings`;
    if (await redis.hexists(settings, 'due')) shift.hincrby(settings, 'due', -this.ms);
    await shift.exec();
    model.nowMs += this.ms;
  }
  toString = () => `pass(${this.ms})`;
}

class Admit extends Step {
  constructor(readonly id: string) {
    super();
  }
  protected async step(model: LeaseModel, { pool, pools }: Real): Promise<void> {
    await pools.importMembers(pool, { format: 'json', body: JSON.stringify({ members: [{ id: this.id }] }) });
    const found = model.members.get(this.id);
    if (found && found.state !== 'removed') return;
    const wasDisabled = disabledWhenRemoved.get(model)?.has(this.id) ?? false;
    const fresh: ModelMember = {
      id: this.id,
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

class Remove extends Step {
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

interface Patch {
  state?: 'eligible' | 'disabled';
  weight?: number;
  capacity?: number | null;
}

class Change extends Step {
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

class Configure extends Step {
  constructor(readonly changes: { capacity?: number | null; limit?: number | null }) {
    super();
  }
  protected async step(model: LeaseModel, { pool, pools }: Real): Promise<void> {
    await pools.put(pool, this.changes);
    // It does what is due on the way.
    model.expire();
    Object.assign(model, this.changes);
  }
  toString = () => `configure(${JSON.stringify(this.changes)})`;
}

class Fault extends Step {
  constructor(readonly kind: 'script flush' | 'restart' | 'cut') {
    super();
  }
  protected async step(_model: LeaseModel, { server, redis, proxy, selection, lossy }: Real): Promise<void> {
    if (this.kind === 'script flush') await redis.script('FLUSH');
    else if (this.kind === 'restart') await server.restart();
    else proxy.cut();
    for (const service of [selection, lossy]) {
      await waitUntil(() => service.requireReady().then(() => true), { what: 'the connection to be back' });
    }
    await waitUntil(() => redis.ping().then(() => true), { what: 'the connection of the test to be back' });
  }
  toString = () => this.kind;
}

const id = fc.constantFrom(...MEMBERS);
const at = fc.integer({ min: 0, max: 99 }).map((percent) => percent / 100);
const loss = fc.oneof(
  { weight: 30, arbitrary: fc.constant<Loss>('none') },
  { weight: 1, arbitrary: fc.constantFrom<Loss>('request', 'reply') },
);
const ttl = fc.integer({ min: 0, max: 9 }).map((count) => count * STEP_MS + STEP_MS / 2);
const capacity = fc.option(fc.integer({ min: 1, max: 4 }));
const patch = fc.oneof(
  fc.constantFrom<Patch>({ state: 'eligible' }, { state: 'disabled' }),
  fc.record<Patch>({ weight: fc.integer({ min: 1, max: 5 }) }),
  fc.record<Patch>({ capacity }),
);

/** Every kind of step; those that make leases come more often. */
export const steps: fc.Arbitrary<Command>[] = [
  ttl.map((ttlMs) => new Select(ttlMs)),
  fc.constant(TTL_MS).map((ttlMs) => new Select(ttlMs)),
  fc.integer({ min: 1, max: 5 }).map((count) => new SelectBatch(count)),
  fc.tuple(fc.constantFrom('r1', 'r2', 'r3', 'r4'), loss).map((args) => new Retry(...args)),
  fc.tuple(at, fc.constantFrom('completed', 'abandoned', 'forced'), loss).map((args) => new End(...args)),
  fc.tuple(at, fc.constant<'completed'>('completed'), fc.constant<Loss>('none')).map((args) => new End(...args)),
  fc.array(at, { minLength: 8, maxLength: 12 }).map((each) => new CompleteMany(each)),
  fc.tuple(at, ttl).map((args) => new Extend(...args)),
  fc.integer({ min: 1, max: 5 }).map((count) => new Pass(count * STEP_MS)),
  id.map((member) => new Admit(member)),
  id.map((member) => new Remove(member)),
  fc.tuple(id, patch).map((args) => new Change(...args)),
  fc.oneof(fc.record({ capacity }), fc.record({ limit: capacity })).map((changes) => new Configure(changes)),
  fc
    .oneof(
      { weight: 8, arbitrary: fc.constant<'script flush'>('script flush') },
      { weight: 1, arbitrary: fc.constantFrom<'restart' | 'cut'>('restart', 'cut') },
    )
    .map((kind) => new Fault(kind)),
];

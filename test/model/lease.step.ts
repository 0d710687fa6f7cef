import { expect } from '@jest/globals';
import type fc from 'fast-check';
import type { Redis } from 'ioredis';
import type { OutcomeService } from '../../src/eligibility/health/outcome.service.js';
import type { PoolService } from '../../src/pool/pool.service.js';
import { leaseIdOf, readLeaseName } from '../../src/selection/leases/lease.name.js';
import type { LeaseService } from '../../src/selection/leases/lease.service.js';
import type { SelectionService } from '../../src/selection/selection.service.js';
import type { RedisServer } from '../support/redis.server.js';
import type { TcpProxy } from '../support/tcp.proxy.js';
import { waitUntil } from '../support/wait.until.js';
import type { LeaseModel } from './lease.model.js';

/** The pool under test, reached directly and through a network that loses things. */
export interface Real {
  pool: string;
  server: RedisServer;
  redis: Redis;
  proxy: TcpProxy;
  pools: PoolService;
  selection: SelectionService;
  leases: LeaseService;
  outcomes: OutcomeService;
  /** Through the proxy. */
  lossy: SelectionService;
}

export type Command = fc.AsyncCommand<LeaseModel, Real>;

/** Time passes in whole steps, and every lease ends half way between two: no run is so slow that it decides. */
export const STEP_MS = 10_000;
export const TTL_MS = 65_000;
export const MEMBERS = ['a', 'b', 'c', 'd'];
export const LABELS: Readonly<Record<string, { country?: string }>> = {
  a: { country: 'DE' },
  b: { country: 'DE' },
  c: { country: 'FR' },
};

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
export abstract class Step implements Command {
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

export type Loss = 'none' | 'request' | 'reply';

/** Loses a call on the way there or back, which the client is told; then all is well again. */
export async function lose(real: Real, loss: Loss, call: () => Promise<unknown>): Promise<void> {
  if (loss === 'none') return;
  if (loss === 'request') real.proxy.dropRequests();
  else real.proxy.dropReplies();
  await expect(call()).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' });
  real.proxy.pass();
  await waitUntil(() => real.lossy.requireReady().then(() => true), { what: 'the connection to be back' });
}

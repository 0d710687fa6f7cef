import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { COUNTED_INDEX } from '../../src/selection/strategies/counted.index.js';
import { SelectionStrategyProvider } from '../../src/selection/strategies/selection-strategy.decorator.js';
import type { PoolConfig, SelectionStrategy } from '../../src/selection/strategies/selection.strategy.js';
import { EligibleMembers } from '../../src/selection/eligible.members.js';
import { startRedis, type RedisServer } from '../support/redis.server.js';
import { type SelectionApp, givePool, importMembers, startSelection, tally } from '../support/selection.app.js';
import { storedKeys } from '../support/stored.keys.js';

/** A host's own: the first id in the order of bytes, every time. On the index of counts. */
@SelectionStrategyProvider()
@Injectable()
class FirstStrategy implements SelectionStrategy {
  readonly name: string = 'first';
  constructor(readonly members: EligibleMembers) {}
  select(pool: PoolConfig) {
    return this.members.select(pool, async () => (await this.members.ids(pool, 1))[0] ?? null);
  }
}

/** The same on an index that is a kind of its own, so that a change to it carries the members over in steps. */
@SelectionStrategyProvider()
@Injectable()
class OtherKindStrategy extends FirstStrategy {
  override readonly name = 'other-kind';
  readonly index = { ...COUNTED_INDEX, kind: 'other', parts: ['others'] };
}

let server: RedisServer;
let redis: Redis;
let app: SelectionApp;

beforeAll(async () => {
  server = await startRedis();
  redis = server.client();
  app = await startSelection(server.url, [FirstStrategy, OtherKindStrategy]);
});
afterAll(async () => {
  await app.close();
  await server.stop();
});
beforeEach(async () => {
  await redis.flushall();
});

describe('settings', () => {
  test('take the defaults in a new pool, and keep their values when a change does not name them', async () => {
    expect(await app.pools.put('shop', { capacity: 4, lease: { ttlMs: 5_000 } })).toEqual({
      created: true,
      pool: {
        name: 'shop',
        strategy: 'least-assigned',
        restore: 'level',
        initialCount: 'level',
        capacity: 4,
        limit: null,
        lease: { ttlMs: 5_000, maxTtlMs: 3_600_000 },
        candidates: 'trust',
        policy: null,
        health: null,
        bans: { cooldownMs: 600_000 },
        probe: null,
        filters: [],
        session: { ttlMs: 600_000 },
        members: { total: 0, eligible: 0, withdrawn: 0 },
        assigned: 0,
        inFlight: 0,
        waiters: 0,
        probes: { waiting: 0, running: 0 },
      },
    });
    const { created, pool } = await app.pools.put('shop', { capacity: null, restore: 'keep' });
    expect(created).toBe(false);
    expect(pool).toMatchObject({ capacity: null, restore: 'keep', lease: { ttlMs: 5_000 } });
  });

  test.each([
    [{ lease: { ttlMs: 7_200_000 } }, 'lease.ttlMs'],
    [{ lease: { ttlMs: 999 } }, 'lease.ttlMs'],
    [{ capacity: 0 }, 'capacity'],
    [{ capacity: 1.5 }, 'capacity'],
    [{ limit: 1_000_001 }, 'limit'],
    [{ initialCount: -1 }, 'initialCount'],
    [{ restore: 'level ' }, 'restore'],
    [{ colour: 'red' }, 'colour'],
  ])('%j is refused, naming %s, and nothing is made', async (changes, path) => {
    await expect(app.pools.put('shop', changes as never)).rejects.toMatchObject({ problems: [{ path }] });
    await expect(app.pools.get('shop')).rejects.toMatchObject({ code: 'POOL_NOT_FOUND' });
    expect((await app.pools.list()).pools).toEqual([]);
  });

  test.each(['', 'Shop', '-a', 'a'.repeat(65), 'a b', 'a}b', '../a', '__proto__'])(
    'the name %j is refused',
    async (name) => {
      await expect(app.pools.put(name)).rejects.toMatchObject({ problems: [{ path: 'pool' }] });
      await expect(app.selection.select(name)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    },
  );

  test('name a strategy that is known, or are refused with the list of those that are', async () => {
    await expect(app.pools.put('shop', { strategy: 'most-liked' })).rejects.toMatchObject({
      code: 'STRATEGY_UNKNOWN',
      known: ['first', 'least-assigned', 'least-concurrency', 'least-recently-used', 'other-kind', 'random'],
    });
    expect((await app.pools.list()).pools).toEqual([]);
  });
});

describe('a pool', () => {
  test('that is deleted leaves nothing behind', async () => {
    await app.pools.put('other');
    const keysBefore = await storedKeys(redis);
    await givePool(app, 'shop', ['a', 'b', 'c']);
    await tally(app, 'shop', 5);
    await app.pools.patchMember('shop', 'a', { state: 'disabled' });
    await app.pools.removeMember('shop', 'b');
    await app.pools.delete('shop');
    expect(await storedKeys(redis)).toEqual(keysBefore);
    await expect(app.pools.delete('shop')).rejects.toMatchObject({ code: 'POOL_NOT_FOUND' });
    expect((await app.pools.list()).pools.map(({ name }) => name)).toEqual(['other']);
  });

  test('list is in pages', async () => {
    for (const name of ['c', 'a', 'b']) await app.pools.put(name);
    const first = await app.pools.list({ limit: 2 });
    expect(first.pools.map(({ name }) => name)).toEqual(['a', 'b']);
    const second = await app.pools.list({ limit: 2, cursor: first.nextCursor ?? '' });
    expect(second.pools.map(({ name }) => name)).toEqual(['c']);
    expect(second.nextCursor).toBeNull();
  });
});

describe("a host's own strategy", () => {
  test('is used like any other, alone and in batches', async () => {
    await givePool(app, 'shop', ['b', 'a', 'c'], { strategy: 'first' });
    expect(await tally(app, 'shop', 3)).toEqual({ a: 3 });
    const { selections } = await app.selection.selectBatch('shop', { count: 2 });
    expect(selections.map(({ assigned }) => assigned)).toEqual([4, 5]);
    await app.pools.patchMember('shop', 'a', { state: 'disabled' });
    expect(await tally(app, 'shop', 2)).toEqual({ b: 2 });
  });

  test('says why there is nothing to select', async () => {
    await app.pools.put('shop', { strategy: 'first' });
    expect(await app.selection.select('shop')).toMatchObject({ selection: null, reason: 'EMPTY_POOL' });
    await importMembers(app, 'shop', ['a']);
    await app.pools.patchMember('shop', 'a', { state: 'disabled' });
    expect(await app.selection.select('shop')).toMatchObject({ selection: null, reason: 'NONE_ELIGIBLE' });
  });
});

describe('a change of strategy', () => {
  const ids = Array.from({ length: 700 }, (_, n) => `m${String(n).padStart(3, '0')}`);

  test.each(['first', 'other-kind'])(
    'to %s keeps members, counts and withdrawals, and other processes follow',
    async (strategy) => {
      await givePool(app, 'shop', ids);
      const other = await startSelection(server.url, [FirstStrategy, OtherKindStrategy]);
      await other.selection.selectBatch('shop', { count: 1_000 });
      await app.pools.patchMember('shop', 'm000', { state: 'disabled' });
      const before = (await app.pools.listMembers('shop', { limit: 1_000 })).members;

      await app.pools.put('shop', { strategy });
      expect((await app.pools.listMembers('shop', { limit: 1_000 })).members).toEqual(before);
      expect(await tally(other, 'shop', 3)).toEqual({ m001: 3 });
      expect((await other.pools.get('shop')).assigned).toBe(1_003);

      await app.pools.put('shop', { strategy: 'least-assigned' });
      expect((await app.pools.getMember('shop', 'm001')).assigned).toBe(5);
      expect((await other.selection.select('shop')).selection?.assigned).toBe(2);
      await other.close();
    },
  );

  test('that was left half done is finished by whoever comes next', async () => {
    await givePool(app, 'shop', ids);
    await tally(app, 'shop', 10);
    await redis.hset('evenhand:{shop}:settings', 'strategy', 'other-kind', 'leaving', 'least-assigned');
    const next = await startSelection(server.url, [FirstStrategy, OtherKindStrategy]);
    expect(await tally(next, 'shop', 2)).toEqual({ m000: 2 });
    await next.close();
    expect(await redis.hget('evenhand:{shop}:settings', 'leaving')).toBeNull();
    expect(await redis.zcard('evenhand:{shop}:other-kind:others')).toBe(700);
    expect(await redis.exists('evenhand:{shop}:least-assigned:counts')).toBe(0);
  });
});

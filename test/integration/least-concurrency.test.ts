import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { SelectionRequest } from '../../src/selection/selection.types.js';
import { LeaseService } from '../../src/selection/leases/lease.service.js';
import { startRedis, type RedisServer } from '../support/redis.server.js';
import { type SelectionApp, givePool, startSelection } from '../support/selection.app.js';
import { waitUntil } from '../support/wait.until.js';

let server: RedisServer;
let redis: Redis;
let app: SelectionApp;
let leases: LeaseService;

beforeAll(async () => {
  server = await startRedis();
  redis = server.client();
  app = await startSelection(server.url);
  leases = app.context.get(LeaseService);
});
afterAll(async () => {
  await app.close();
  await server.stop();
});
beforeEach(async () => {
  await redis.flushall();
});

const LC = { strategy: 'least-concurrency' };

/** Selects and expects to get something. */
async function lend(request: SelectionRequest = {}, pool = 'shop') {
  const { selection, reason } = await app.selection.select(pool, request);
  if (!selection?.lease) throw new Error(`nothing lent: ${reason}`);
  return { ...selection, lease: selection.lease };
}
const inFlightOf = async (id: string) => (await app.pools.getMember('shop', id)).inFlight;

describe('a selection', () => {
  test('comes with a lease and goes to the member with the least work in progress', async () => {
    await givePool(app, 'shop', ['a', 'b', 'c'], LC);
    const first = await lend({ ttlMs: 5_000 });
    expect(first).toMatchObject({
      member: { id: 'a', value: 'a', labels: {} },
      assigned: 1,
      lease: { id: expect.stringMatching(/^[A-Za-z0-9_.~-]+$/), fence: expect.any(Number), ttlMs: 5_000 },
    });
    expect(Math.abs(Date.parse(first.lease.expiresAt) - Date.now() - 5_000)).toBeLessThan(4_000);
    expect([(await lend()).member.id, (await lend()).member.id]).toEqual(['b', 'c']);
    await app.selection.complete('shop', first.lease.id);
    expect((await lend()).member.id).toBe('a');
    expect(await app.pools.get('shop')).toMatchObject({ inFlight: 3, assigned: 4 });
    expect(await app.pools.getMember('shop', 'a')).toMatchObject({ inFlight: 1, assigned: 2 });
  });

  test('among equals goes to the one picked longest ago: 300 in a row over three are 100 each', async () => {
    await givePool(app, 'shop', ['a', 'b', 'c'], LC);
    const counts: Record<string, number> = {};
    for (let n = 0; n < 300; n++) {
      const { member, lease } = await lend();
      counts[member.id] = (counts[member.id] ?? 0) + 1;
      await app.selection.complete('shop', lease.id);
    }
    expect(counts).toEqual({ a: 100, b: 100, c: 100 });
  });

  test('prefers a new member without leases to those that have some', async () => {
    await givePool(app, 'shop', ['a', 'b'], LC);
    for (let n = 0; n < 4; n++) await lend();
    await givePool(app, 'shop', ['new']);
    expect([(await lend()).member.id, (await lend()).member.id]).toEqual(['new', 'new']);
    expect([await inFlightOf('a'), await inFlightOf('b'), await inFlightOf('new')]).toEqual([2, 2, 2]);
  });

  test('a member that comes back from a long lease gets its share of what follows, not all of it', async () => {
    await givePool(app, 'shop', ['a', 'b', 'c'], LC);
    const long = await lend();
    expect(long.member.id).toBe('a');
    for (let n = 0; n < 4_000; n++) await app.selection.complete('shop', (await lend()).lease.id);
    await app.selection.complete('shop', long.lease.id);
    const counts: Record<string, number> = {};
    for (let n = 0; n < 300; n++) {
      const { member, lease } = await lend();
      counts[member.id] = (counts[member.id] ?? 0) + 1;
      await app.selection.complete('shop', lease.id);
    }
    expect(counts).toEqual({ a: 100, b: 100, c: 100 });
  });

  test('a member that fails at once each time gets its share and no more, though it is idle most of the time', async () => {
    await givePool(app, 'shop', ['fast', 'slow-1', 'slow-2'], LC);
    const counts: Record<string, number> = {};
    const held: string[] = [];
    for (let n = 0; n < 300; n++) {
      const { member, lease } = await lend();
      counts[member.id] = (counts[member.id] ?? 0) + 1;
      if (member.id === 'fast') await app.selection.complete('shop', lease.id, { outcome: 'failure' });
      else held.push(lease.id);
      if (held.length > 1) await app.selection.complete('shop', held.shift() ?? '');
    }
    expect(counts).toEqual({ fast: 100, 'slow-1': 100, 'slow-2': 100 });
  });

  test.each([2 ** 32 - 150, 2 ** 32 - 1, 2 ** 33 - 100])(
    'passes the end of the tie numbers without favour (%d)',
    async (start) => {
      await app.pools.put('shop', LC);
      await redis.hset('evenhand:{shop}:settings', 'sequence', start);
      await givePool(app, 'shop', ['a', 'b', 'c']);
      for (let round = 0; round < 100; round++) {
        const seen = [];
        for (let n = 0; n < 3; n++) {
          const { member, lease } = await lend();
          seen.push(member.id);
          await app.selection.complete('shop', lease.id);
        }
        expect(seen.sort()).toEqual(['a', 'b', 'c']);
      }
    },
  );

  test('counts a lease of a member of weight w as 1/w', async () => {
    await givePool(app, 'shop', [{ id: 'heavy', weight: 3 }, 'light'], LC);
    for (let n = 0; n < 8; n++) await lend();
    expect([await inFlightOf('heavy'), await inFlightOf('light')]).toEqual([6, 2]);
  });

  test("never takes a member above its capacity, its own or the pool's, or the pool above its limit", async () => {
    await givePool(app, 'shop', ['a', 'b'], { ...LC, capacity: 2 });
    await app.pools.patchMember('shop', 'b', { capacity: 3 });
    const { selections, reason } = await app.selection.selectBatch('shop', { count: 10 });
    expect(selections).toHaveLength(5);
    expect(reason).toBe('AT_CAPACITY');
    expect([await inFlightOf('a'), await inFlightOf('b')]).toEqual([2, 3]);
    const full = await app.selection.select('shop');
    expect(full).toMatchObject({ selection: null, reason: 'AT_CAPACITY' });
    expect(full.retryAfterMs).toBeGreaterThan(0);
    await app.pools.put('shop', { capacity: null, limit: 6 });
    await lend();
    expect(await app.selection.select('shop')).toMatchObject({ selection: null, reason: 'AT_CAPACITY' });
  });

  test('of an empty pool, or one whose members are all withdrawn, is null and says so', async () => {
    await app.pools.put('shop', LC);
    expect(await app.selection.select('shop')).toEqual({ selection: null, reason: 'EMPTY_POOL', retryAfterMs: null });
    await givePool(app, 'shop', ['a']);
    await app.pools.patchMember('shop', 'a', { state: 'disabled' });
    expect(await app.selection.select('shop')).toMatchObject({ selection: null, reason: 'NONE_ELIGIBLE' });
  });

  test("refuses a TTL above the pool's longest", async () => {
    await givePool(app, 'shop', ['a'], { ...LC, lease: { ttlMs: 2_000, maxTtlMs: 4_000 } });
    await expect(app.selection.select('shop', { ttlMs: 4_001 })).rejects.toMatchObject({
      problems: [{ path: 'ttlMs' }],
    });
    expect((await lend()).lease.ttlMs).toBe(2_000);
  });
});

describe('a lease', () => {
  beforeEach(() => givePool(app, 'shop', ['a'], { ...LC, capacity: 1 }));

  test('answers late calls by how it ended', async () => {
    const { lease } = await lend();
    expect(await app.selection.complete('shop', lease.id)).toEqual({ status: 'completed' });
    expect(await app.selection.complete('shop', lease.id)).toEqual({ status: 'already-completed' });
    await expect(app.selection.abandon('shop', lease.id)).rejects.toMatchObject({
      code: 'LEASE_ENDED',
      endedAs: 'completed',
    });
    await expect(app.selection.extend('shop', lease.id)).rejects.toMatchObject({ code: 'LEASE_ENDED' });

    const second = (await lend()).lease;
    expect(await app.selection.abandon('shop', second.id)).toEqual({ status: 'abandoned' });
    expect(await app.selection.abandon('shop', second.id)).toEqual({ status: 'already-abandoned' });
    await expect(app.selection.complete('shop', second.id)).rejects.toMatchObject({
      code: 'LEASE_ENDED',
      endedAs: 'abandoned',
    });

    const third = (await lend()).lease;
    await leases.force('shop', third.id);
    await leases.force('shop', third.id);
    await expect(app.selection.complete('shop', third.id)).rejects.toMatchObject({
      code: 'LEASE_EXPIRED',
      endedAs: 'forced',
    });
    expect(await inFlightOf('a')).toBe(0);
  });

  test('that is past its expiry has expired, whether or not anything has settled it', async () => {
    const { lease } = await lend({ ttlMs: 60_000 });
    const [name = ''] = await redis.zrange('evenhand:{shop}:leases', '0', '0');
    await redis.zadd('evenhand:{shop}:leases', Date.now() - 1, name);
    await redis.hset('evenhand:{shop}:settings', 'due', Date.now() - 1);
    await expect(app.selection.complete('shop', lease.id)).rejects.toMatchObject({
      code: 'LEASE_EXPIRED',
      endedAs: 'expired',
    });
    expect(await inFlightOf('a')).toBe(0);
    const next = await lend();
    await expect(app.selection.abandon('shop', lease.id)).rejects.toMatchObject({ code: 'LEASE_EXPIRED' });
    expect(await inFlightOf('a')).toBe(1);
    await app.selection.complete('shop', next.lease.id);
  });

  test('expires by itself in an idle pool', async () => {
    await lend({ ttlMs: 1_000 });
    await waitUntil(async () => (await app.pools.get('shop')).inFlight === 0, {
      deadlineMs: 2_500,
      what: 'the expiry',
    });
    expect(await inFlightOf('a')).toBe(0);
    await waitUntil(async () => (await redis.zcard('evenhand:due')) === 0, { what: 'nothing to be due' });
  });

  test('is extended, never shortened, and its fence is checked', async () => {
    const { lease } = await lend({ ttlMs: 60_000 });
    const shorter = await app.selection.extend('shop', lease.id, { ttlMs: 1_000 });
    expect(shorter.expiresAt).toBe(lease.expiresAt);
    const longer = await app.selection.extend('shop', lease.id, { ttlMs: 120_000, fence: lease.fence });
    expect(Date.parse(longer.expiresAt)).toBeGreaterThan(Date.parse(lease.expiresAt) + 50_000);
    const stale = { fence: lease.fence - 1 };
    await expect(app.selection.extend('shop', lease.id, stale)).rejects.toMatchObject({ code: 'STALE_FENCE' });
    await expect(app.selection.complete('shop', lease.id, stale)).rejects.toMatchObject({ code: 'STALE_FENCE' });
    await app.selection.complete('shop', lease.id, { fence: lease.fence });
    await expect(app.selection.abandon('shop', lease.id, stale)).rejects.toMatchObject({ code: 'STALE_FENCE' });
  });

  test('whose id nobody ever got is not found, whatever its shape', async () => {
    const { lease } = await lend();
    const forged = `${'A'.repeat(22)}${lease.id.slice(22)}`;
    for (const id of ['x', '', 'A'.repeat(5_000), forged, `${lease.id}x`, '__proto__']) {
      await expect(app.selection.complete('shop', id)).rejects.toMatchObject({ code: 'LEASE_NOT_FOUND' });
    }
    await expect(app.selection.complete('shop', forged, { fence: 7 })).rejects.toMatchObject({
      code: 'LEASE_NOT_FOUND',
    });
    expect(await inFlightOf('a')).toBe(1);
  });

  test('shows in the list with its owner, and alone', async () => {
    const { lease } = await lend({ owner: 'crawler-17' });
    const view = {
      ...{ id: lease.id, memberId: 'a', owner: 'crawler-17', fence: lease.fence, expiresAt: lease.expiresAt },
      acquiredAt: expect.any(String),
    };
    expect(await leases.list('shop')).toEqual({ leases: [view], nextCursor: null });
    expect(await leases.get('shop', lease.id)).toEqual(view);
    await app.selection.complete('shop', lease.id);
    expect((await leases.list('shop')).leases).toEqual([]);
    await expect(leases.get('shop', lease.id)).rejects.toMatchObject({ code: 'LEASE_NOT_FOUND' });
  });

  test('batch of extensions answers for each, in the order asked', async () => {
    await app.pools.put('shop', { capacity: 4 });
    const { selections } = await app.selection.selectBatch('shop', { count: 3 });
    const ids = selections.map(({ lease }) => lease?.id ?? '');
    await app.selection.complete('shop', ids[1] ?? '');
    await leases.force('shop', ids[2] ?? '');
    const { leases: results } = await leases.extendBatch('shop', { leases: [...ids, 'x'].map((id) => ({ id })) });
    expect(results).toEqual([
      { id: ids[0], status: 'extended', expiresAt: expect.any(String) },
      { id: ids[1], status: 'ended' },
      { id: ids[2], status: 'expired' },
      { id: 'x', status: 'unknown' },
    ]);
  });

  test('fences only grow, also over a loss of the counter', async () => {
    let last = 0;
    for (let n = 0; n < 20; n++) {
      const { lease } = await lend();
      expect(lease.fence).toBeGreaterThan(last);
      last = lease.fence;
      await app.selection.complete('shop', lease.id);
      if (n % 5 === 0) await redis.hdel('evenhand:{shop}:settings', 'fence', 'sequence');
    }
  });
});

describe('a requestId', () => {
  beforeEach(() => givePool(app, 'shop', ['a', 'b'], LC));

  test('finds the lease that the first request made', async () => {
    const first = await lend({ requestId: 'r', owner: 'x' });
    const again = await lend({ owner: 'x', requestId: 'r' });
    expect(again.lease.id).toBe(first.lease.id);
    expect(again.assigned).toBe(1);
    expect((await app.pools.get('shop')).inFlight).toBe(1);
  });

  test('with another request, or after its lease has ended, is refused', async () => {
    const first = await lend({ requestId: 'r' });
    await expect(lend({ requestId: 'r', ttlMs: 7_000 })).rejects.toMatchObject({ code: 'REQUEST_ID_REUSED' });
    await app.selection.complete('shop', first.lease.id);
    await expect(lend({ requestId: 'r' })).rejects.toMatchObject({ code: 'REQUEST_ID_REUSED', endedAs: 'completed' });
  });

  test('repeated without a wait, or with a shorter one, leaves the wait of the first request alone', async () => {
    await app.pools.put('shop', { limit: 1 });
    const holder = await lend();
    const first = app.selection.select('shop', { requestId: 'r', waitMs: 20_000 });
    await waitUntil(async () => (await app.pools.get('shop')).waiters === 1, { what: 'one waiter' });
    const nothing = { selection: null, reason: 'AT_CAPACITY', retryAfterMs: expect.any(Number) };
    expect(await app.selection.select('shop', { requestId: 'r' })).toEqual(nothing);
    expect(await app.selection.select('shop', { requestId: 'r', waitMs: 50 })).toEqual(nothing);
    expect((await app.pools.get('shop')).waiters).toBe(1);
    await app.selection.complete('shop', holder.lease.id);
    expect((await first).selection?.lease).toBeDefined();
  });

  test('joins the wait of the first request', async () => {
    await app.pools.put('shop', { limit: 1 });
    const holder = await lend();
    const request = { requestId: 'r', waitMs: 10_000 };
    const waits = [app.selection.select('shop', request), app.selection.select('shop', request)];
    await waitUntil(async () => (await app.pools.get('shop')).waiters === 1, { what: 'one waiter' });
    await app.selection.complete('shop', holder.lease.id);
    const [one, two] = await Promise.all(waits);
    expect(one?.selection?.lease?.id).toBeDefined();
    expect(two?.selection?.lease?.id).toBe(one?.selection?.lease?.id);
  });
});

describe('members that change while they are lent', () => {
  beforeEach(() => givePool(app, 'shop', ['a', 'b'], { ...LC, capacity: 2 }));

  test('keep their leases while they are disabled, and count them when they come back', async () => {
    const first = await lend();
    await lend();
    await app.pools.patchMember('shop', 'a', { state: 'disabled' });
    expect(await app.pools.getMember('shop', 'a')).toMatchObject({ state: 'withdrawn', inFlight: 1 });
    await lend();
    await app.pools.patchMember('shop', 'a', { state: 'eligible' });
    expect(await inFlightOf('a')).toBe(1);
    expect((await lend()).member.id).toBe('a');
    await app.selection.complete('shop', first.lease.id);
    expect(await inFlightOf('a')).toBe(1);
  });

  test('may be removed: the lease ends as usual, and the member stays removed', async () => {
    const { lease } = await lend();
    await app.pools.removeMember('shop', 'a');
    expect((await app.pools.get('shop')).inFlight).toBe(1);
    await app.selection.complete('shop', lease.id);
    expect((await app.pools.get('shop')).inFlight).toBe(0);
    await expect(app.pools.getMember('shop', 'a')).rejects.toMatchObject({ code: 'MEMBER_NOT_FOUND' });
    expect(await redis.exists('evenhand:{shop}:least-concurrency:away')).toBe(0);
  });

  test('keep what they have when the weight changes', async () => {
    for (let n = 0; n < 4; n++) await lend();
    await app.pools.put('shop', { capacity: null });
    await app.pools.patchMember('shop', 'a', { weight: 4 });
    expect([await inFlightOf('a'), await inFlightOf('b')]).toEqual([2, 2]);
    for (let n = 0; n < 6; n++) await lend();
    expect([await inFlightOf('a'), await inFlightOf('b')]).toEqual([8, 2]);
  });
});

describe('capacity and limit', () => {
  test("change at run time: a lowered one stops new leases and takes nobody's away, a raised one has room at once", async () => {
    const ids = Array.from({ length: 450 }, (_, n) => `m${n}`);
    await givePool(app, 'shop', ids, { ...LC, capacity: 3 });
    for (let n = 0; n < 7; n++) await app.selection.selectBatch('shop', { count: 200 });
    expect((await app.pools.get('shop')).inFlight).toBe(1_350);
    await app.pools.put('shop', { capacity: 1 });
    expect(await app.selection.select('shop')).toMatchObject({ reason: 'AT_CAPACITY' });
    expect((await app.pools.get('shop')).inFlight).toBe(1_350);
    await app.pools.put('shop', { capacity: 4 });
    expect((await app.selection.selectBatch('shop', { count: 200 })).selections).toHaveLength(200);
    expect((await app.selection.selectBatch('shop', { count: 200 })).selections).toHaveLength(200);
    expect((await app.selection.selectBatch('shop', { count: 200 })).selections).toHaveLength(50);
    expect(await redis.hexists('evenhand:{shop}:settings', 'reseat')).toBe(0);
  });
});

describe('a pool with live leases', () => {
  test('keeps its strategy and is not deleted, unless by force', async () => {
    await givePool(app, 'shop', ['a'], LC);
    const { lease } = await lend();
    await expect(app.pools.put('shop', { strategy: 'least-assigned' })).rejects.toMatchObject({ code: 'POOL_BUSY' });
    await expect(app.pools.delete('shop')).rejects.toMatchObject({ code: 'POOL_BUSY' });
    expect(await app.pools.put('shop', { restore: 'keep' })).toMatchObject({ pool: { strategy: 'least-concurrency' } });
    await app.pools.delete('shop', { force: true });
    await expect(app.selection.complete('shop', lease.id)).rejects.toMatchObject({ code: 'POOL_NOT_FOUND' });
    expect(await redis.keys('*shop*')).toEqual([]);
  });

  test('may change its strategy when they have ended, and the counts of selections go along', async () => {
    await givePool(app, 'shop', ['a', 'b'], LC);
    for (let n = 0; n < 3; n++) await app.selection.complete('shop', (await lend()).lease.id);
    await app.pools.put('shop', { strategy: 'least-assigned' });
    expect((await app.selection.select('shop')).selection).toMatchObject({
      member: { id: 'b' },
      assigned: 2,
      lease: null,
    });
    await app.pools.put('shop', LC);
    expect(await lend()).toMatchObject({ assigned: 3 });
    expect((await app.pools.get('shop')).assigned).toBe(5);
  });
});

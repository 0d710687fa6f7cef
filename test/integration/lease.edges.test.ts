import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { REDIS_CLIENT } from '../../src/redis/redis.tokens.js';
import { LeaseScripts } from '../../src/selection/leases/lease.scripts.js';
import type { SelectionRequest } from '../../src/selection/selection.types.js';
import { startRedis, type RedisServer } from '../support/redis.server.js';
import { type SelectionApp, givePool, startSelection } from '../support/selection.app.js';
import { waitUntil } from '../support/wait.until.js';

/** What happens where two things meet that seldom do. */
let server: RedisServer;
let redis: Redis;
let app: SelectionApp;
let client: Redis;
let scripts: LeaseScripts;

beforeAll(async () => {
  server = await startRedis();
  redis = server.client();
  app = await startSelection(server.url);
  client = app.context.get(REDIS_CLIENT, { strict: false });
  scripts = app.context.get(LeaseScripts, { strict: false });
});
afterAll(async () => {
  await app.close();
  await server.stop();
});
beforeEach(() => redis.flushall());
afterEach(() => {
  jest.restoreAllMocks();
});

const LC = { strategy: 'least-concurrency' };
const SETTINGS = 'evenhand:{shop}:settings';

async function lend(request: SelectionRequest = {}) {
  const { selection } = await app.selection.select('shop', request);
  if (!selection?.lease) throw new Error('nothing lent');
  return selection.lease;
}
const inFlight = async () => (await app.pools.get('shop')).inFlight;

describe('the index of what is due', () => {
  test('has an entry for every lease, also where an earlier one is claimed while it is made', async () => {
    await givePool(app, 'shop', ['a'], LC);
    await app.selection.complete('shop', (await lend({ ttlMs: 1_000 })).id);
    await app.pools.put('shop', { capacity: 5 });
    const left = await redis.zrange('evenhand:due', '0', '-1');
    expect(left.length).toBeGreaterThan(0);
    // Between the registration and the lease somebody looks at what was registered before, and finds nothing to do.
    const zadd = client.zadd.bind(client) as (...args: unknown[]) => Promise<number>;
    jest.spyOn(client, 'zadd').mockImplementation(async (...args: unknown[]) => {
      const added = await zadd(...args);
      for (const entry of left) await redis.zadd('evenhand:due', 'XX', 1, entry);
      const isDone = async () => {
        const entries = await redis.zrange('evenhand:due', '0', '-1', 'WITHSCORES');
        return !entries.includes('shop') && !entries.includes('1');
      };
      await waitUntil(isDone, { what: 'the look, and what it finds' });
      return added;
    });
    await lend({ ttlMs: 3_000 });
    await waitUntil(async () => (await inFlight()) === 0, { deadlineMs: 6_000, what: 'the expiry' });
  });

  test('is never later than the first expiry, also after a hand-over of a lease that is short', async () => {
    await givePool(app, 'shop', ['a'], { ...LC, capacity: 1 });
    await lend({ ttlMs: 1_000 });
    for (let n = 0; n < 3; n++) {
      const lease = await lend({ ttlMs: 1_000, waitMs: 10_000 });
      expect(Number(await redis.hget(SETTINGS, 'due'))).toBeLessThanOrEqual(Date.parse(lease.expiresAt));
    }
  });
});

test('the count of work in progress stays exact when a weight is lowered under many leases', async () => {
  await givePool(app, 'shop', [{ id: 'a', weight: 100 }], LC);
  const ids: string[] = [];
  for (let n = 0; n < 20; n++) {
    const { selections } = await app.selection.selectBatch('shop', { count: 200 });
    ids.push(...selections.map(({ lease }) => lease?.id ?? ''));
  }
  await app.pools.patchMember('shop', 'a', { weight: 3 });
  await Promise.all(ids.slice(0, 1_500).map((id) => app.selection.complete('shop', id)));
  await app.pools.patchMember('shop', 'a', { weight: 1 });
  await Promise.all(ids.slice(1_500, 2_500).map((id) => app.selection.complete('shop', id)));
  expect(await inFlight()).toBe(1_500);
  expect((await app.pools.getMember('shop', 'a')).inFlight).toBe(1_500);
});

test('a lowered longest TTL takes nobody a lease that is held', async () => {
  await givePool(app, 'shop', ['a', 'b'], { ...LC, lease: { ttlMs: 1_500, maxTtlMs: 3_000 } });
  const short = await app.selection.hold('shop');
  const long = await app.selection.hold('shop', { ttlMs: 3_000 });
  await app.pools.put('shop', { lease: { maxTtlMs: 1_500 } });
  const first = Number((await redis.zrange('evenhand:{shop}:leases', '-1', '-1', 'WITHSCORES'))[1]);
  const later = async () => Number((await redis.zrange('evenhand:{shop}:leases', '0', '0', 'WITHSCORES'))[1]) > first;
  await waitUntil(later, { deadlineMs: 8_000, what: 'both to be extended beyond what the longer one had' });
  expect([short?.signal.aborted, long?.signal.aborted]).toEqual([false, false]);
  await Promise.all([short?.complete(), long?.complete()]);
});

describe('a waiter that lost its place', () => {
  const loseFirst = async () => {
    const [waiter = ''] = await redis.zrange('evenhand:{shop}:waiters', '0', '0');
    await redis.zrem('evenhand:{shop}:waiters', waiter);
  };
  const waiters = async () => (await app.pools.get('shop')).waiters;

  test('and cannot have it back does not end the wait of another', async () => {
    await givePool(app, 'shop', ['a'], { ...LC, capacity: 1 });
    const held = await lend();
    const refused = expect(lend({ ttlMs: 600_000, waitMs: 10_000 })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
    });
    await waitUntil(async () => (await waiters()) === 1, { what: 'the first waiter' });
    const other = lend({ waitMs: 10_000 });
    await waitUntil(async () => (await waiters()) === 2, { what: 'the second waiter' });
    await app.pools.put('shop', { lease: { maxTtlMs: 60_000 } });
    await loseFirst();
    await refused;
    await app.selection.complete('shop', held.id);
    expect((await other).id).toBeDefined();
  });

  test('and is given up while it gets it back leaves it again', async () => {
    await givePool(app, 'shop', ['a'], { ...LC, capacity: 1 });
    await lend();
    const gone = new AbortController();
    const wait = app.selection.select('shop', { waitMs: 50_000 }, gone.signal);
    await waitUntil(async () => (await waiters()) === 1, { what: 'the waiter' });
    const acquire = scripts.acquire.bind(scripts);
    jest.spyOn(scripts, 'acquire').mockImplementation(async (...args) => {
      gone.abort();
      await wait;
      return acquire(...args);
    });
    await loseFirst();
    expect(await wait).toMatchObject({ selection: null });
    await sleep(0);
    await waitUntil(async () => (await redis.exists('evenhand:{shop}:waiters', 'evenhand:{shop}:notes')) === 0, {
      what: 'nobody to be left in line',
    });
  });
});

describe('a wait that is over says why there is nothing', () => {
  test.each([
    ['EMPTY_POOL', (): Promise<unknown> => Promise.resolve()],
    ['NONE_ELIGIBLE', (): Promise<unknown> => app.pools.patchMember('shop', 'a', { state: 'disabled' })],
    ['AT_CAPACITY', (): Promise<unknown> => lend()],
  ] as const)('%s', async (reason, prepare) => {
    await givePool(app, 'shop', reason === 'EMPTY_POOL' ? [] : ['a'], { ...LC, capacity: 1 });
    await prepare();
    const result = await app.selection.select('shop', { waitMs: 50 });
    expect(result).toMatchObject({ selection: null, reason });
    if (reason === 'AT_CAPACITY') expect(result.retryAfterMs).toBeGreaterThan(50_000);
    else expect(result.retryAfterMs).toBeNull();
  });
});

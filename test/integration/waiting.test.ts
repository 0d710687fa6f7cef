import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { startRedis, type RedisServer } from '../support/redis.server.js';
import { type SelectionApp, givePool, startSelection } from '../support/selection.app.js';
import { waitUntil } from '../support/wait.until.js';

let server: RedisServer;
let redis: Redis;
let app: SelectionApp;
let other: SelectionApp;

beforeAll(async () => {
  server = await startRedis();
  redis = server.client();
  app = await startSelection(server.url);
  other = await startSelection(server.url);
});
afterAll(async () => {
  await app.close();
  await other.close();
  await server.stop();
});
beforeEach(async () => {
  await redis.flushall();
  await givePool(app, 'shop', ['a'], { strategy: 'least-concurrency', capacity: 1 });
});

async function lend(waitMs = 0, from = app) {
  const { selection } = await from.selection.select('shop', { waitMs });
  return selection?.lease?.id ?? '';
}
const waiters = async () => (await app.pools.get('shop')).waiters;
const atLeast = (count: number) => waitUntil(async () => (await waiters()) >= count, { what: `${count} waiters` });

describe('a wait', () => {
  test('ends with the lease as soon as one is free', async () => {
    const held = await lend();
    const waiting = lend(10_000);
    await atLeast(1);
    await app.selection.complete('shop', held);
    const got = await waiting;
    expect(got).not.toBe('');
    expect(await app.pools.get('shop')).toMatchObject({ inFlight: 1, waiters: 0 });
    await app.selection.complete('shop', got);
    expect((await app.pools.get('shop')).inFlight).toBe(0);
    expect(await redis.hgetall('evenhand:{shop}:notes')).toEqual({});
  });

  test('ends with nothing when its time is over, and leaves the line', async () => {
    await lend();
    const result = await app.selection.select('shop', { waitMs: 200 });
    expect(result).toMatchObject({ selection: null, reason: 'AT_CAPACITY' });
    expect(await waiters()).toBe(0);
    expect(await redis.hgetall('evenhand:{shop}:notes')).toEqual({});
  });

  test('is served in order of arrival, across processes, and newcomers do not overtake', async () => {
    let held = await lend();
    const order: number[] = [];
    const waits: Promise<void>[] = [];
    for (let n = 0; n < 20; n++) {
      const from = n % 2 === 0 ? app : other;
      const served = lend(20_000, from).then((lease) => {
        order.push(n);
        held = lease;
      });
      waits.push(served);
      await atLeast(n + 1);
    }
    for (let n = 0; n < 20; n++) {
      const released = app.selection.complete('shop', held);
      expect(await app.selection.select('shop')).toMatchObject({ selection: null, reason: 'AT_CAPACITY' });
      await released;
      await waits[n];
    }
    expect(order).toEqual(Array.from({ length: 20 }, (_, n) => n));
  });

  test('that the caller gives up is passed over', async () => {
    const held = await lend();
    const gone = new AbortController();
    const first = app.selection.select('shop', { waitMs: 10_000 }, gone.signal);
    await atLeast(1);
    const second = lend(10_000, other);
    await atLeast(2);
    gone.abort();
    await waitUntil(async () => (await waiters()) === 1, { what: 'the first to leave' });
    await app.selection.complete('shop', held);
    expect(await second).not.toBe('');
    expect(await first).toMatchObject({ selection: null });
  });

  test('needs no message: a lost one costs at most a poll', async () => {
    const held = await lend();
    const waiting = lend(10_000);
    await atLeast(1);
    await redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await app.selection.complete('shop', held);
    expect(await waiting).not.toBe('');
  });

  test('ends when a limit is raised, or a member comes', async () => {
    await lend();
    const first = lend(10_000);
    await atLeast(1);
    await app.pools.put('shop', { capacity: 2 });
    expect(await first).not.toBe('');
    const second = lend(10_000);
    await atLeast(1);
    await givePool(app, 'shop', ['b']);
    expect(await second).not.toBe('');
  });

  test('is told when the process shuts down, and its place goes to the next', async () => {
    const held = await lend();
    const third = await startSelection(server.url);
    const told = expect(lend(10_000, third)).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
    await atLeast(1);
    const next = lend(10_000);
    await atLeast(2);
    await third.close();
    await told;
    expect(await waiters()).toBe(1);
    await app.selection.complete('shop', held);
    expect(await next).not.toBe('');
  });

  test('is told when the pool is deleted', async () => {
    await lend();
    const told = expect(lend(10_000)).rejects.toMatchObject({ code: 'POOL_NOT_FOUND' });
    await atLeast(1);
    await app.pools.delete('shop', { force: true });
    await told;
  });

  test('is kept through a short outage', async () => {
    const held = await lend();
    const order: string[] = [];
    const first = lend(20_000).then(() => order.push('first'));
    await atLeast(1);
    server.pause();
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    server.resume();
    const second = lend(20_000, other).then(() => order.push('second'));
    await atLeast(2);
    await app.selection.complete('shop', held);
    await first;
    expect(order).toEqual(['first']);
    expect(await waiters()).toBe(1);
    void second;
    await app.pools.put('shop', { capacity: 2 });
    await second;
  });

  test('for an eligible member works where the strategy has no leases', async () => {
    await app.pools.put('plain', {});
    const waiting = app.selection.select('plain', { waitMs: 10_000 });
    await givePool(app, 'plain', ['x']);
    expect((await waiting).selection?.member.id).toBe('x');
    await app.pools.patchMember('plain', 'x', { state: 'disabled' });
    expect(await app.selection.select('plain', { waitMs: 150 })).toMatchObject({ reason: 'NONE_ELIGIBLE' });
  });
});

describe('a held member', () => {
  test('keeps its lease as long as the work takes, and completes it at the end', async () => {
    const result = await app.selection.withMember('shop', { ttlMs: 1_000 }, async ({ member }, signal) => {
      await new Promise((resolve) => setTimeout(resolve, 2_200));
      expect(signal.aborted).toBe(false);
      expect((await app.pools.get('shop')).inFlight).toBe(1);
      return member.id;
    });
    expect(result).toEqual({ result: 'a' });
    expect((await app.pools.get('shop')).inFlight).toBe(0);
  });

  test('is given back when the work throws, and the error passes on', async () => {
    const work = app.selection.withMember('shop', {}, () => Promise.reject(new Error('no luck')));
    await expect(work).rejects.toThrow('no luck');
    expect((await app.pools.get('shop')).inFlight).toBe(0);
  });

  test('tells the work when its lease is lost, and what it comes to then counts all the same', async () => {
    const result = await app.selection.withMember('shop', { ttlMs: 1_000 }, async (selection, signal) => {
      const lost = new Promise((resolve) => signal.addEventListener('abort', resolve));
      await app.selection.complete('shop', selection.lease?.id ?? '');
      await lost;
      return 'done';
    });
    expect(result).toEqual({ result: 'done' });
  });

  test('tells the work when the event loop was blocked for longer than the lease lives', async () => {
    await app.selection.withMember('shop', { ttlMs: 1_000 }, async (_selection, signal) => {
      const lost = new Promise((resolve) => signal.addEventListener('abort', resolve));
      const until = performance.now() + 1_500;
      while (performance.now() < until);
      await lost;
      expect(signal.reason).toMatchObject({ code: 'LEASE_EXPIRED' });
    });
  });

  test('is null when there is none, and can be disposed of', async () => {
    {
      await using handle = await app.selection.hold('shop');
      expect(handle?.selection.member.id).toBe('a');
      expect(await app.selection.hold('shop')).toBeNull();
      expect(await app.selection.withMember('shop', {}, () => Promise.resolve(1))).toBeNull();
    }
    expect((await app.pools.get('shop')).inFlight).toBe(0);
  });
});

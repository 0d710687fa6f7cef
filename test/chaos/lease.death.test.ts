import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { LeaseProcess } from '../support/lease.processes.js';
import { LeaseSampler, leasesOf } from '../support/lease.sampler.js';
import { startRedis, type RedisServer } from '../support/redis.server.js';
import { type SelectionApp, givePool, startSelection } from '../support/selection.app.js';
import { waitUntil } from '../support/wait.until.js';

const TTL_MS = 1_000;
/** Promised: a worker that dies holds its member no longer than its lease lives, and this. */
const GRACE_MS = 1_000;
const WORKERS = 8;
/** All of them together ask for more than there is. */
const LOOPS = { pool: 'shop', atOnce: 3 };
/** How long leases are held; those of workers that will be stopped long enough that they hold some then. */
const HOLD_MS = { short: 60, long: 400 };

let server: RedisServer;
let redis: Redis;
let app: SelectionApp;
let workers: LeaseProcess[] = [];

beforeEach(async () => {
  server = await startRedis();
  redis = server.client();
  app = await startSelection(server.url);
});
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.kill()));
  await app.close();
  await server.stop();
});

/** Numbers from 0 to 1 that are the same for the same seed (Tommy Ettinger's mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Kills half of the workers, and stops some of the others for longer than a lease lives, each at a moment of its own. */
async function wreak(
  random: () => number,
  ttlMs: number,
): Promise<{ paused: LeaseProcess[]; untouched: LeaseProcess[] }> {
  const [killed, paused, untouched] = [workers.slice(0, 4), workers.slice(4, 6), workers.slice(6)];
  const kills = killed.map(async (worker) => {
    await sleep(300 + random() * 2_000);
    await worker.kill();
  });
  const pauses = paused.map(async (worker) => {
    await sleep(300 + random() * 700);
    worker.pause();
    await sleep(ttlMs + 200 + random() * 500);
    worker.resume();
  });
  await Promise.all([...kills, ...pauses]);
  return { paused, untouched };
}

/** In-flight as members show it equals the leases there are, in one moment in which nothing changed. */
async function expectCountsToMatch({ pools }: SelectionApp, ids: readonly string[]): Promise<void> {
  const seen = await waitUntil(async () => {
    const before = await leasesOf(redis, 'shop');
    const shown = await Promise.all(ids.map(async (id) => (await pools.getMember('shop', id)).inFlight));
    const after = await leasesOf(redis, 'shop');
    return JSON.stringify([...before]) === JSON.stringify([...after]) && { shown, live: after };
  });
  expect(seen.shown).toEqual(ids.map((id) => seen.live.get(id) ?? 0));
}

test.each([
  { ...{ members: 5, limit: null, ticking: 'an app that set the pool up' }, ttlMs: TTL_MS, waitMs: 0 },
  // What was handed to a waiter that died just then is free again after two seconds.
  { ...{ members: 8, limit: 10, ticking: 'an app that never used the pool' }, ttlMs: 2 * TTL_MS, waitMs: 300 },
])(
  'eight workers on $members members of capacity 2, limit $limit, waiting $waitMs ms, half of them killed, some stopped past their TTL: never over, and all slots come back by $ticking',
  async ({ members, limit, ticking, ttlMs, waitMs }) => {
    const seed = Number(process.env['LEASE_CHAOS_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
    const ids = Array.from({ length: members }, (_, n) => `member-${n}`);
    await givePool(app, 'shop', ids, { strategy: 'least-concurrency', capacity: 2, limit });
    workers = await LeaseProcess.startAll(server.url, WORKERS);
    if (ticking.includes('never')) {
      await app.close();
      app = await startSelection(server.url);
    }
    const sampler = new LeaseSampler(redis, 'shop');
    try {
      const holdOf = (n: number) => (n === 4 || n === 5 ? HOLD_MS.long : HOLD_MS.short);
      await Promise.all(workers.map((worker, n) => worker.loop({ ...LOOPS, ttlMs, waitMs, holdMs: holdOf(n) })));
      const { paused, untouched } = await wreak(randomFrom(seed), ttlMs);

      // After their pause they get as far as to complete what they held, and go on.
      const before = await Promise.all(paused.map((worker) => worker.report()));
      const goneOn = async (worker: LeaseProcess, n: number) =>
        (await worker.report()).completed > (before[n]?.completed ?? 0) + 3;
      await Promise.all(paused.map((worker, n) => waitUntil(() => goneOn(worker, n), { what: 'a paused worker' })));
      const late = await Promise.all(paused.map((worker) => worker.report()));
      const others = await Promise.all(untouched.map((worker) => worker.report()));
      expect([...late, ...others].flatMap(({ violations }) => violations)).toEqual([]);
      expect(others.map(({ failures }) => failures)).toEqual([{}, {}]);
      expect(late.reduce((sum, report) => sum + report.late, 0)).toBeGreaterThan(0);

      await Promise.all(workers.map((worker) => worker.kill()));
      const deathMs = performance.now();
      await waitUntil(async () => (await redis.zcard('evenhand:{shop}:leases')) === 0, {
        deadlineMs: ttlMs + GRACE_MS,
        what: 'the slots of the dead',
      });
      const backMs = performance.now() - deathMs;
      const peak = await sampler.stop();
      console.info(
        `${peak.samples} samples, peak ${peak.pool} of 10; back ${Math.round(backMs)} ms after the last death`,
      );
      // Both are reached, and never passed.
      expect(peak).toMatchObject({ member: 2, pool: 10 });
      await expectCountsToMatch(app, ids);
      expect((await app.pools.get('shop')).inFlight).toBe(0);
      // Waiters of the dead are passed over, and nothing of them stays.
      const notes = async () => Object.keys(await redis.hgetall('evenhand:{shop}:notes'));
      await waitUntil(async () => (await notes()).length === 0, { what: `no notes, but ${String(await notes())}` });
      expect(await redis.exists('evenhand:{shop}:waiters')).toBe(0);
    } catch (error) {
      throw new Error(`with LEASE_CHAOS_SEED=${seed}: ${String(error)}`, { cause: error });
    } finally {
      await sampler.stop();
    }
  },
);

test('in-flight equals the live leases while the dead still hold them, and falls with each of them', async () => {
  const ids = ['a', 'b', 'c'];
  await givePool(app, 'shop', ids, { strategy: 'least-concurrency', capacity: 2 });
  workers = await LeaseProcess.startAll(server.url, 1);
  for (let n = 0; n < 5; n++) await workers[0]?.lend('shop', { ttlMs: TTL_MS + n * 60 });
  await workers[0]?.kill();
  expect((await app.pools.get('shop')).inFlight).toBe(5);
  while ((await redis.zcard('evenhand:{shop}:leases')) > 0) await expectCountsToMatch(app, ids);
  await expectCountsToMatch(app, ids);
});

test("a worker that was stopped past its TTL cannot complete, abandon or extend, and the new holder's lease stands", async () => {
  await givePool(app, 'shop', ['a'], { strategy: 'least-concurrency', capacity: 1 });
  workers = await LeaseProcess.startAll(server.url, 3);
  const hows = ['complete', 'abandon', 'extend'] as const;
  for (const [n, how] of hows.entries()) {
    const worker = workers[n] as LeaseProcess;
    const late = await worker.lend('shop', { ttlMs: TTL_MS });
    worker.pause();
    // Lies in the worker's inbox until it comes back.
    const answer = worker.end(how, 'shop', late.id);
    const { selection: next } = await app.selection.select('shop', { waitMs: 10_000 });
    expect(next?.lease?.fence).toBeGreaterThan(late.fence);
    worker.resume();
    await expect(answer).rejects.toMatchObject({ code: 'LEASE_EXPIRED', endedAs: 'expired' });
    const id = next?.lease?.id ?? '';
    expect(await leasesOf(redis, 'shop')).toEqual(new Map([['a', 1]]));
    expect((await app.pools.getMember('shop', 'a')).inFlight).toBe(1);
    expect(await worker.select('shop')).toMatchObject({ selection: null, reason: 'AT_CAPACITY' });
    expect(await app.selection.complete('shop', id)).toEqual({ status: 'completed' });
  }
});

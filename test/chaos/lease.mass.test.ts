import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { LeaseService } from '../../src/selection/leases/lease.service.js';
import { startRedis, type RedisServer } from '../support/redis.server.js';
import { type SelectionApp, givePool, startSelection } from '../support/selection.app.js';
import { waitUntil } from '../support/wait.until.js';

const LEASES = 20_000;
const BATCH = 200;
const IDS = Array.from({ length: 1_000 }, (_, n) => `member-${String(n).padStart(13, '0')}`);
const LEASES_KEY = 'evenhand:{shop}:leases';
const DUE_KEY = 'evenhand:due';
/** No script settles more than so many. */
const STEP = 100;

let server: RedisServer;
let redis: Redis;
let app: SelectionApp;
/** A second process's worth of timers, so that two could come for the same pool. */
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
  await givePool(app, 'shop', IDS, { strategy: 'least-concurrency' });
});

async function lendAll(ttlMs: number): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < LEASES) {
    const { selections } = await app.selection.selectBatch('shop', { count: BATCH, ttlMs });
    ids.push(...selections.map(({ lease }) => lease?.id ?? ''));
  }
  return ids;
}

/** Live leases of each member, by what the members show. */
async function shownCounts(): Promise<Set<number>> {
  const { members } = await app.pools.listMembers('shop', { limit: 1_000 });
  return new Set(members.map(({ inFlight }) => inFlight));
}

/** How long each script ran since the log was reset, in ms, the shortest first. */
async function scriptsMs(): Promise<number[]> {
  const entries = (await redis.slowlog('GET', -1)) as [number, number, number, string[]][];
  const scripts = entries.filter(([, , , [command = '']]) => command.toLowerCase().startsWith('eval'));
  return scripts.map(([, , durationUs]) => durationUs / 1_000).sort((a, b) => a - b);
}

/** Lets all leases expire at one moment, and says so where it is written what is due. */
async function expireAllAt(ms: number): Promise<void> {
  const names = await redis.zrange(LEASES_KEY, '0', '-1');
  for (let at = 0; at < names.length; at += 1_000) {
    await redis.zadd(LEASES_KEY, 'XX', ...names.slice(at, at + 1_000).flatMap((name) => [ms, name]));
  }
  await redis.zadd(DUE_KEY, ms, 'shop!');
}

/** Names of all keys, when the memory of ended leases has run out, and the pool was looked at the last time. */
async function keysAtRest(): Promise<string[]> {
  // Both are a matter of a minute or more: let it be now.
  for (const pool of await redis.zrange(DUE_KEY, '0', '-1')) await redis.zadd(DUE_KEY, 'XX', 1, pool);
  await waitUntil(async () => (await redis.exists(DUE_KEY)) === 0, { what: 'nothing to be due' });
  for (const key of ['ended', 'ended-old']) await redis.pexpire(`evenhand:{shop}:${key}`, 1);
  await waitUntil(async () => (await redis.keys('*ended*')).length === 0, {
    what: 'the memory of ended leases to run out',
  });
  return (await redis.keys('*')).sort();
}

const bytesOf = async (key: string) => Number(await redis.memory('USAGE', key, 'SAMPLES', 0));

async function bytesOfKeys(): Promise<number> {
  const sizes = await Promise.all((await redis.keys('*')).map(bytesOf));
  return sizes.reduce((sum, bytes) => sum + bytes, 0);
}

async function extend(ids: readonly string[]): Promise<void> {
  await app.context.get(LeaseService).extendBatch('shop', { leases: ids.map((id) => ({ id })) });
}

const usedBytes = async () => Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);

describe('20,000 leases', () => {
  test('that expire in the same second are settled in short steps, with no traffic, and the counts are zero', async () => {
    await lendAll(60_000);
    expect(await shownCounts()).toEqual(new Set([LEASES / IDS.length]));
    // In microseconds: commands inside a script, which are logged too, take less.
    await redis.config('SET', 'slowlog-log-slower-than', 100);
    await redis.config('SET', 'slowlog-max-len', 10_000);
    await redis.slowlog('RESET');
    const expiryMs = Date.now() + 1_000;
    await expireAllAt(expiryMs);

    await waitUntil(async () => (await redis.zcard(LEASES_KEY)) === 0, {
      deadlineMs: 20_000,
      what: 'all leases to be settled',
    });
    const lateMs = Date.now() - expiryMs;
    const runs = await scriptsMs();
    await redis.slowlog('RESET');
    await redis.config('SET', 'slowlog-log-slower-than', -1);
    const middleMs = runs[Math.floor(runs.length / 2)] ?? 0;
    console.info(
      `${LEASES} leases that expired at once: the last settled ${lateMs} ms later; the longest script ${runs.at(-1)} ms, in the middle ${middleMs} ms`,
    );
    // What holds on any machine: they are settled by many scripts. The time of one is what a machine's load makes of it.
    expect(runs.length).toBeGreaterThanOrEqual(LEASES / STEP);
    expect(middleMs).toBeLessThan(50);
    expect(await shownCounts()).toEqual(new Set([0]));
    expect(await app.pools.get('shop')).toMatchObject({ inFlight: 0, assigned: LEASES });
    // What was registered for a later time stays until then.
    await waitUntil(async () => (await redis.zscore(DUE_KEY, 'shop')) === null, { what: 'nothing to be due' });
  });

  test('take at most 160 bytes each, and leave no key behind', async () => {
    // The first lease of a pool begins its counters, which stay.
    const { selection } = await app.selection.select('shop');
    await app.selection.complete('shop', selection?.lease?.id ?? '');
    const keysBefore = await keysAtRest();
    const before = { keys: await bytesOfKeys(), used: await usedBytes() };
    const ids = await lendAll(60_000);
    // While a table of Redis grows, the old one is there too, until so many look-ups have been made; leases in use make them.
    for (let at = 0; at < ids.length; at += 1_000) await extend(ids.slice(at, at + 1_000));
    const inSet = (await bytesOf(LEASES_KEY)) / LEASES;
    const inKeys = ((await bytesOfKeys()) - before.keys) / LEASES;
    const used = ((await usedBytes()) - before.used) / LEASES;
    const figures = [inSet, inKeys, used].map((bytes) => bytes.toFixed(1));
    console.info(
      `bytes a live lease: ${figures[0]} in its set, ${figures[1]} in all keys, ${figures[2]} with the allocator's`,
    );
    expect(inKeys).toBeLessThanOrEqual(160);

    for (let at = 0; at < ids.length; at += 500) {
      await Promise.all(ids.slice(at, at + 500).map((id) => app.selection.complete('shop', id)));
    }
    expect((await app.pools.get('shop')).inFlight).toBe(0);
    expect(await keysAtRest()).toEqual(keysBefore);
  });

  test('of callers with owners and requestIds leave no note behind', async () => {
    const keysBefore = await keysAtRest();
    for (let n = 0; n < 300; n++) {
      const request = { ttlMs: 1_000, owner: 'crawler-17', requestId: `request-${n}` };
      const { selection } = await app.selection.select('shop', request);
      const id = selection?.lease?.id ?? '';
      if (n % 3 === 0) await app.selection.complete('shop', id);
      if (n % 3 === 1) await app.selection.abandon('shop', id);
    }
    await waitUntil(async () => (await redis.exists(LEASES_KEY, 'evenhand:{shop}:notes')) === 0, {
      what: 'the last leases to expire',
    });
    const added = (await keysAtRest()).filter((key) => !keysBefore.includes(key));
    expect(added).toEqual([]);
  });
});

import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { Lease } from '../../src/selection/selection.types.js';
import { LeaseProcess } from '../support/lease.processes.js';
import { startRedis, type RedisServer } from '../support/redis.server.js';
import { type SelectionApp, givePool, startSelection } from '../support/selection.app.js';
import { waitUntil } from '../support/wait.until.js';

const PROCESSES = 8;
const WAIT_MS = 60_000;
const QUEUE = 'evenhand:{shop}:waiters';

let server: RedisServer;
let redis: Redis;
let app: SelectionApp;
let processes: LeaseProcess[];

beforeAll(async () => {
  server = await startRedis();
  redis = server.client();
  app = await startSelection(server.url);
  processes = await LeaseProcess.startAll(server.url, PROCESSES);
});
afterAll(async () => {
  await Promise.all(processes.map((process) => process.kill()));
  await app.close();
  await server.stop();
});
beforeEach(async () => {
  await redis.flushall();
  await givePool(app, 'shop', ['a'], { strategy: 'least-concurrency', capacity: 1 });
});

const processAt = (n: number) => processes[n % PROCESSES] as LeaseProcess;

async function lend(): Promise<Lease> {
  const { selection } = await app.selection.select('shop');
  if (!selection?.lease) throw new Error('nothing lent');
  return selection.lease;
}

/** Puts one waiter after the other into the line, by the processes in turn; each is sent when the one before stands there. */
async function queueUp<T>(count: number, wait: (process: LeaseProcess) => Promise<T>): Promise<Promise<T>[]> {
  const waits: Promise<T>[] = [];
  for (let n = 0; n < count; n++) {
    waits.push(wait(processAt(n)));
    while ((await redis.zcard(QUEUE)) <= n);
  }
  return waits;
}

async function expectNothingLeft(): Promise<void> {
  expect(await redis.exists(QUEUE)).toBe(0);
  expect(await redis.hgetall('evenhand:{shop}:notes')).toEqual({});
}

test('200 waiters in eight processes are served in the order in which they came, and no newcomer overtakes', async () => {
  const held = await lend();
  const waits = await queueUp(200, (process) => process.serve('shop', { waitMs: WAIT_MS }));
  const served = new AbortController();
  const newcomers = (async () => {
    const fences: number[] = [];
    while (!served.signal.aborted) {
      const { selection } = await app.selection.select('shop');
      if (!selection?.lease) continue;
      fences.push(selection.lease.fence);
      await app.selection.complete('shop', selection.lease.id);
    }
    return fences;
  })();
  await app.selection.complete('shop', held.id);
  const fences = (await Promise.all(waits)).map((lease) => lease?.fence ?? 0);
  served.abort();
  // A fence grows with every lease of the pool: it tells the order in which they were made.
  expect(fences).toEqual([...fences].sort((a, b) => a - b));
  expect(new Set(fences).size).toBe(200);
  const last = fences.at(-1) ?? 0;
  for (const fence of await newcomers) expect(fence).toBeGreaterThan(last);
  await expectNothingLeft();
});

/** How often scripts were called, and messages sent, since the server started. */
async function traffic(): Promise<{ scripts: number; messages: number }> {
  const stats = await redis.info('commandstats');
  const calls = (command: string) => Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
  return { scripts: calls('evalsha') + calls('eval'), messages: calls('publish') };
}

test('with 1,000 waiters a freed slot wakes one of them, with one message and at most three script calls', async () => {
  const ROUNDS = 12;
  let held = await lend();
  let served: (lease: Lease) => void = () => undefined;
  const waits = Array.from({ length: 1_000 }, async (_, n) => {
    const lease = await processAt(n).lend('shop', { waitMs: WAIT_MS });
    served(lease);
  });
  await waitUntil(async () => (await redis.zcard(QUEUE)) === waits.length, { what: 'all to stand in line' });
  const scripts: number[] = [];
  for (let n = 0; n < ROUNDS; n++) {
    const next = new Promise<Lease>((resolve) => (served = resolve));
    const before = await traffic();
    await app.selection.complete('shop', held.id);
    held = await next;
    const after = await traffic();
    scripts.push(after.scripts - before.scripts);
    expect(after.messages - before.messages).toBe(1);
    expect(await redis.zcard(QUEUE)).toBe(1_000 - 1 - n);
  }
  // Each process asks for all of its waiters twice a second, whether or not anything is freed, and some rounds meet such
  // calls. They are none of a hand-over's, whose own cost is what the best round shows: a hand-over that woke all waiters,
  // or one a process, would do so in every round.
  console.info(`script calls from a release to the waiter's lease, in ${ROUNDS} rounds: ${scripts.join(', ')}`);
  expect(Math.min(...scripts)).toBeLessThanOrEqual(3);
  await app.pools.delete('shop', { force: true });
  const ends = await Promise.allSettled(waits);
  expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(1_000 - ROUNDS);
});

test('a release just between "none free" and "standing in line" leaves nobody asleep', async () => {
  const before = await Promise.all(processes.map((process) => process.report()));
  const started = performance.now();
  // Every lease is released at once, in the middle of the others' asking, thousands of times.
  const options = { pool: 'shop', ttlMs: 10_000, waitMs: WAIT_MS, holdMs: 0, atOnce: 4 };
  await Promise.all(processes.map((process) => process.loop(options)));
  const enough = async () =>
    (await Promise.all(processes.map((process) => process.report()))).every(
      ({ completed }, n) => completed >= (before[n]?.completed ?? 0) + 100,
    );
  await waitUntil(enough, { deadlineMs: 30_000, what: 'every process to get its turns' });
  const reports = await Promise.all(processes.map((process) => process.endLoops()));
  const seconds = (performance.now() - started) / 1_000;
  const total = reports.reduce((sum, { completed }) => sum + completed, 0);
  console.info(`${total} leases of one slot in ${seconds.toFixed(1)} s, each waited for`);
  for (const report of reports) expect(report).toMatchObject({ nothing: 0, late: 0, failures: {}, violations: [] });
  await expectNothingLeft();
  expect((await app.pools.get('shop')).inFlight).toBe(0);
});

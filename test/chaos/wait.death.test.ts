import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { LeaseScripts } from '../../src/selection/leases/lease.scripts.js';
import { WaitingRoom } from '../../src/selection/leases/waiting.room.js';
import type { Lease } from '../../src/selection/selection.types.js';
import { LeaseProcess } from '../support/lease.processes.js';
import { startRedis, type RedisServer } from '../support/redis.server.js';
import { type SelectionApp, givePool, startSelection } from '../support/selection.app.js';
import { waitUntil } from '../support/wait.until.js';

const TTL_MS = 2_000;
/** A waiter that died is passed over; a lost message costs at most this. */
const GRACE_MS = 1_000;
/** For so long a hand-over stands that nobody confirms. */
const HAND_OVER_MS = 2_000;
/** A process that listens no more counts as gone when it was not seen for so long. */
const DEAF_MS = 1_000;
const QUEUE = 'evenhand:{shop}:waiters';
const NOTES = 'evenhand:{shop}:notes';
const SEEN = 'evenhand:{shop}:seen';

let server: RedisServer;
let redis: Redis;
let processes: LeaseProcess[] = [];
let app: SelectionApp;

beforeAll(async () => {
  server = await startRedis();
  redis = server.client();
  app = await startSelection(server.url);
});
afterAll(async () => {
  await app.close();
  await server.stop();
});
beforeEach(async () => {
  await redis.flushall();
  await givePool(app, 'shop', ['a'], { strategy: 'least-concurrency', capacity: 1 });
});
afterEach(() => Promise.all(processes.splice(0).map((process) => process.kill())));

const standing = (count: number) =>
  waitUntil(async () => (await redis.zcard(QUEUE)) === count, { what: `${count} waiters` });

/** One process holds the slot, the second is at the head of the line, the third is next. */
async function holderHeadAndNext() {
  processes = await LeaseProcess.startAll(server.url, 3);
  const [holder, head, next] = processes as [LeaseProcess, LeaseProcess, LeaseProcess];
  const held = await holder.lend('shop', { ttlMs: TTL_MS });
  void head.select('shop', { waitMs: 30_000 });
  await standing(1);
  const served = next.lend('shop', { waitMs: 30_000 });
  await standing(2);
  return { holder, head, held, served };
}

/** When the lease was made, by the server's clock: a fence counts in microseconds. */
const madeMs = ({ fence }: Lease) => fence / 1_000;

describe('when the holder and the head of the line are killed together, with no other traffic', () => {
  test("the next waiter has the slot at the holder's expiry", async () => {
    const { holder, head, held, served } = await holderHeadAndNext();
    await Promise.all([holder.kill(), head.kill()]);
    const afterMs = madeMs(await served) - Date.parse(held.expiresAt);
    console.info(`the next waiter had the slot ${Math.round(afterMs)} ms after the expiry`);
    expect(afterMs).toBeGreaterThanOrEqual(0);
    expect(afterMs).toBeLessThanOrEqual(GRACE_MS);
    expect(await redis.exists(QUEUE)).toBe(0);
  });

  test('just before the expiry, the next waiter has it when the hand-over to the dead has run out', async () => {
    const { holder, head, held, served } = await holderHeadAndNext();
    await sleep(Date.parse(held.expiresAt) - Date.now() - 200);
    await Promise.all([holder.kill(), head.kill()]);
    const afterMs = madeMs(await served) - Date.parse(held.expiresAt);
    expect(afterMs).toBeLessThanOrEqual(HAND_OVER_MS + GRACE_MS);
    expect((await app.pools.getMember('shop', 'a')).inFlight).toBe(1);
  });
});

describe('waiters that are abandoned', () => {
  test('while the answer is on its way give back what they were handed', async () => {
    const scripts = app.context.get(LeaseScripts);
    const { selection } = await app.selection.select('shop');
    const gone = new AbortController();
    const poll = jest.spyOn(scripts, 'poll').mockImplementation(async (...args) => {
      const told = await LeaseScripts.prototype.poll.apply(scripts, args);
      if (typeof told[0] === 'object') gone.abort();
      return told;
    });
    try {
      const waiting = app.selection.select('shop', { waitMs: 60_000 }, gone.signal);
      await standing(1);
      await app.selection.complete('shop', selection?.lease?.id ?? '');
      expect(await waiting).toMatchObject({ selection: null });
      expect(gone.signal.aborted).toBe(true);
      expect(await redis.exists('evenhand:{shop}:leases', QUEUE, NOTES)).toBe(0);
    } finally {
      poll.mockRestore();
    }
  });

  test('do not pile up: given up, they are gone from the process and from Redis', async () => {
    await app.selection.select('shop');
    const room = app.context.get(WaitingRoom);
    for (let round = 0; round < 3; round++) {
      const gone = new AbortController();
      setMaxListeners(200, gone.signal);
      const request = { waitMs: 60_000, owner: 'crawler-17' };
      const waits = Array.from({ length: 200 }, (_, n) =>
        app.selection.select('shop', { ...request, requestId: `${round}-${n}` }, gone.signal),
      );
      await waitUntil(() => room.size === 200, { what: '200 waiters' });
      await standing(200);
      gone.abort();
      for (const { selection } of await Promise.all(waits)) expect(selection).toBeNull();
      expect(room.size).toBe(0);
      expect(await redis.exists(QUEUE, NOTES)).toBe(0);
    }
  });

  test('do not pile up: those of a process that died are passed over, and no newcomer slips in meanwhile', async () => {
    const { selection } = await app.selection.select('shop');
    processes = await LeaseProcess.startAll(server.url, 1);
    // More than one script passes over.
    for (let n = 0; n < 100; n++) void processes[0]?.select('shop', { waitMs: 60_000, requestId: `r${n}` });
    await standing(100);
    const [dead = ''] = await redis.zrange(SEEN, '0', '0');
    const alive = app.selection.select('shop', { waitMs: 60_000 });
    await standing(101);
    await processes[0]?.kill();
    const unseenMs = async () => Date.now() - Number(await redis.zscore(SEEN, dead));
    await waitUntil(async () => (await unseenMs()) > DEAF_MS, { what: 'the process to be missed' });
    await app.selection.complete('shop', selection?.lease?.id ?? '');
    expect(await app.selection.select('shop')).toMatchObject({ selection: null, reason: 'AT_CAPACITY' });
    await app.selection.complete('shop', (await alive).selection?.lease?.id ?? '');
    expect(await redis.exists('evenhand:{shop}:leases', QUEUE, NOTES)).toBe(0);
    expect((await app.pools.get('shop')).inFlight).toBe(0);
  });

  test('do not pile up: they leave the line when their process died, though no slot comes free', async () => {
    await app.pools.patchMember('shop', 'a', { state: 'disabled' });
    processes = await LeaseProcess.startAll(server.url, 1);
    for (let n = 0; n < 40; n++) void processes[0]?.select('shop', { waitMs: 2_000 });
    await standing(40);
    await processes[0]?.kill();
    await waitUntil(async () => (await redis.exists(QUEUE, NOTES)) === 0, { what: 'the line to empty' });
    // What was registered for a later time stays until then.
    await waitUntil(async () => (await redis.zscore('evenhand:due', 'shop')) === null, { what: 'nothing to be due' });
  });
});

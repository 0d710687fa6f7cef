import { fork } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Redis } from 'ioredis';
import { RedisUnavailableError } from '../../src/errors/domain.errors.js';
import { PoolService } from '../../src/pool/pool.service.js';
import { LeaseService } from '../../src/selection/leases/lease.service.js';
import { SelectionModule } from '../../src/selection/selection.module.js';
import { SelectionService } from '../../src/selection/selection.service.js';
import type { Lease, Selection, SelectionRequest } from '../../src/selection/selection.types.js';
import { exited, killAtExit } from '../support/child.processes.js';
import { startRedis, type RedisServer } from '../support/redis.server.js';
import { type SelectionApp, givePool, startSelection } from '../support/selection.app.js';
import { TcpProxy } from '../support/tcp.proxy.js';
import { waitUntil } from '../support/wait.until.js';

const POOL = 'shop';
const COMMAND_TIMEOUT_MS = 300;
const HOLDER = fileURLToPath(new URL('../support/lease.holder.mjs', import.meta.url));
/** Calls at once, so that every fault meets some of them under way. */
const AT_ONCE = 12;
/** How much longer than it may a call can take on a machine that is busy. */
const SLACK_MS = 3_000;

let server: RedisServer;
let redis: Redis;
let proxy: TcpProxy;
/** Meets the faults. */
let app: SelectionApp;
/** Has a connection of its own, to look and to set up; its timer settles what expires. */
let direct: SelectionApp;
/** Calls that failed and were repeated. */
let failures: number;

beforeEach(async () => {
  failures = 0;
  server = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
  redis = server.client();
  proxy = await TcpProxy.start(server.port);
  direct = await startSelection(server.url);
  app = await startBehindProxy();
});
afterEach(async () => {
  proxy.pass();
  await app.close();
  await direct.close();
  await proxy.stop();
  await server.stop();
});

async function startBehindProxy(commandTimeoutMs = COMMAND_TIMEOUT_MS): Promise<SelectionApp> {
  @Module({ imports: [SelectionModule.forRoot({ redis: { connection: { url: proxy.url }, commandTimeoutMs } })] })
  class Host {}
  const context = await NestFactory.createApplicationContext(Host, { logger: false, abortOnError: false });
  const [pools, selection] = [context.get(PoolService), context.get(SelectionService)];
  return { context, pools, selection, close: () => context.close() };
}

const members = (count: number) => Array.from({ length: count }, (_, n) => `member-${n}`);
const makePool = (count: number, capacity: number | null = null) =>
  givePool(direct, POOL, members(count), { strategy: 'least-concurrency', capacity });
const look = () => direct.pools.get(POOL);
const liveLeases = async () => (await direct.context.get(LeaseService).list(POOL)).leases.map(({ id }) => id);

/** Repeats a call as a client does: for as long as nobody can say what came of it. */
async function untilTold<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof RedisUnavailableError)) throw error;
      failures += 1;
      await sleep(10);
    }
  }
}

const select = async (request: SelectionRequest, from = app) =>
  (await untilTold(() => from.selection.select(POOL, request))).selection as (Selection & { lease: Lease }) | null;
const complete = async (lease: string, from = app) =>
  (await untilTold(() => from.selection.complete(POOL, lease))).status;

/** A lease through the proxy: the next ones need neither read the pool, nor register a look at it, nor load the script. */
const first = async (ttlMs: number) => (await select({ ttlMs }))?.lease.id ?? '';

async function untilFailures(more: number): Promise<void> {
  const before = failures;
  await waitUntil(() => failures >= before + more, { what: `${more} calls that fail`, deadlineMs: 20_000 });
}

/** What networks and servers do; each lasts until some calls have met it. */
const faults: Record<string, () => Promise<void>> = {
  'lost requests': async () => {
    proxy.dropRequests();
    await untilFailures(AT_ONCE);
  },
  'lost replies': async () => {
    proxy.dropReplies();
    await untilFailures(AT_ONCE);
  },
  stall: async () => {
    proxy.stall();
    await untilFailures(AT_ONCE);
  },
  cut: async () => {
    const before = failures;
    await waitUntil(() => {
      proxy.cut();
      return failures > before;
    });
  },
  'forgotten scripts': async () => {
    await redis.script('FLUSH');
  },
  restart: async () => {
    await server.restart('SIGKILL');
  },
};

/** Keeps clients at work while every fault comes twice, and lets what they have begun come to its end. */
async function work(client: (request: string) => Promise<void>): Promise<void> {
  let [requests, ended, isOver] = [0, 0, false];
  const clients = Array.from({ length: AT_ONCE }, async () => {
    while (!isOver) {
      await client(`request-${requests++}`);
      ended += 1;
    }
  });
  const trouble = async () => {
    for (const name of [...Object.keys(faults), ...Object.keys(faults).reverse()]) {
      const before = ended;
      await waitUntil(() => ended >= before + AT_ONCE, { what: `work before ${name}`, deadlineMs: 20_000 });
      await faults[name]?.();
      proxy.pass();
    }
  };
  await Promise.race([trouble(), Promise.all(clients)]).finally(() => (isOver = true));
  await Promise.all(clients);
}

test('through every fault: one lease for each request, one completion for each lease, and none left', async () => {
  await makePool(10);
  const leases: string[] = [];
  const endings: Record<string, number> = {};
  await work(async (requestId) => {
    const lease = (await select({ requestId }))?.lease.id ?? 'none';
    leases.push(lease);
    const status = await complete(lease);
    endings[status] = (endings[status] ?? 0) + 1;
  });

  expect(new Set(leases).size).toBe(leases.length);
  expect(await waitUntil(look)).toMatchObject({ assigned: leases.length, inFlight: 0 });
  expect(endings).toEqual({ completed: expect.any(Number), 'already-completed': expect.any(Number) });
  expect(failures).toBeGreaterThan(AT_ONCE);
});

test('through every fault: waits end by their deadline, no member is lent twice, and no waiter or lease is left', async () => {
  await makePool(3, 1);
  const waitMs = 1_000;
  const held = new Set<string>();
  const lentTwice: string[] = [];
  const late: number[] = [];
  let served = 0;
  const wait = async (request: SelectionRequest) => {
    const startedAt = Date.now();
    try {
      return await app.selection.select(POOL, request);
    } finally {
      const tookMs = Date.now() - startedAt;
      if (tookMs > waitMs + COMMAND_TIMEOUT_MS + SLACK_MS) late.push(tookMs);
    }
  };
  await work(async (requestId) => {
    const { selection } = await untilTold(() => wait({ requestId, waitMs, ttlMs: 20_000 }));
    if (!selection?.lease) return;
    const { id } = selection.member;
    if (held.has(id)) lentTwice.push(id);
    held.add(id);
    await sleep(5);
    served += 1;
    held.delete(id);
    await complete(selection.lease.id);
  });

  expect({ lentTwice, late }).toEqual({ lentTwice: [], late: [] });
  expect(served).toBeGreaterThan(AT_ONCE);
  // A hand-over that nobody confirmed stands for two seconds.
  await waitUntil(async () => (await look()).inFlight === 0, { what: 'the last lease to end' });
  expect(await look()).toMatchObject({ inFlight: 0, waiters: 0 });
  await waitUntil(async () => (await redis.hlen(`evenhand:{${POOL}}:notes`)) === 0, { what: 'no note to be left' });
});

test('a repeat after a lost reply finds the lease that the first call made', async () => {
  await makePool(3);
  await complete(await first(60_000));
  const other = await first(60_000);
  proxy.dropReplies();
  const request = { requestId: 'lost' };
  await expect(app.selection.select(POOL, request)).rejects.toThrow(RedisUnavailableError);
  const [made = '', ...more] = (await liveLeases()).filter((lease) => lease !== other);
  expect(more).toEqual([]);
  proxy.pass();
  expect((await select(request))?.lease.id).toBe(made);
  expect(await look()).toMatchObject({ assigned: 3, inFlight: 2 });

  proxy.dropReplies();
  await expect(app.selection.complete(POOL, made)).rejects.toThrow(RedisUnavailableError);
  proxy.pass();
  expect(await complete(made)).toBe('already-completed');
  expect(await look()).toMatchObject({ assigned: 3, inFlight: 1 });
});

test('leases of lost replies are gone after their TTL where nobody asks again; lost requests leave none', async () => {
  await makePool(3);
  const ttlMs = 1_000;
  const five = () =>
    Promise.allSettled(members(5).map((requestId) => app.selection.select(POOL, { requestId, ttlMs })));
  proxy.dropRequests();
  for (const { status } of await five()) expect(status).toBe('rejected');
  expect(await look()).toMatchObject({ assigned: 0, inFlight: 0 });

  proxy.pass();
  await first(ttlMs);
  proxy.dropReplies();
  for (const { status } of await five()) expect(status).toBe('rejected');
  const deadlineMs = ttlMs + SLACK_MS;
  await waitUntil(async () => (await look()).inFlight === 0, { what: 'the leases to expire', deadlineMs });
  expect((await look()).assigned).toBe(6);
  expect(await liveLeases()).toEqual([]);
});

test('a stall ends waits by their deadline, with REDIS_UNAVAILABLE', async () => {
  await makePool(1, 1);
  const held = (await select({}, direct))?.lease.id ?? '';
  const ends = async (waitMs: number) => {
    const startedAt = Date.now();
    await expect(app.selection.select(POOL, { waitMs })).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' });
    expect(Date.now() - startedAt).toBeLessThan(waitMs + COMMAND_TIMEOUT_MS + SLACK_MS);
  };
  const inLine = ends(1_500);
  await waitUntil(async () => (await look()).waiters === 1, { what: 'the waiter' });
  proxy.stall();
  await Promise.all([inLine, ends(100)]);
  await complete(held, direct);
  // The one that hung up is passed over at once or after its hand-over has run out.
  await waitUntil(async () => (await select({ ttlMs: 60_000 }, direct)) !== null, { what: 'the slot to be free' });
  expect(await look()).toMatchObject({ inFlight: 1, waiters: 0 });
});

test('a restart and SCRIPT FLUSH keep leases, waiters and their order; fences go on growing', async () => {
  const patient = await startBehindProxy(10_000);
  try {
    await makePool(1, 1);
    const held = await select({}, patient);
    const order: string[] = [];
    const fences = [held?.lease.fence ?? 0];
    const wait = async (name: string, from: SelectionApp) => {
      const got = await select({ waitMs: 30_000, requestId: name }, from);
      order.push(name);
      fences.push(got?.lease.fence ?? 0);
      return got?.lease.id ?? '';
    };
    const inLine = (count: number) => waitUntil(async () => (await look()).waiters === count, { what: 'the waiter' });
    const first = wait('first', patient);
    await inLine(1);
    const second = wait('second', direct);
    await inLine(2);
    await server.restart('SIGKILL');
    await redis.script('FLUSH');
    expect(await waitUntil(look)).toMatchObject({ inFlight: 1, waiters: 2 });

    expect(await complete(held?.lease.id ?? '', patient)).toBe('completed');
    expect(await complete(await first, patient)).toBe('completed');
    expect(await complete(await second, patient)).toBe('completed');
    expect(order).toEqual(['first', 'second']);
    expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b));
    expect(await look()).toMatchObject({ inFlight: 0, waiters: 0, assigned: 3 });
  } finally {
    await patient.close();
  }
});

test('held leases outlive cuts and a lost beat; a stall longer than the TTL loses them, and no rejection is left unhandled', async () => {
  await makePool(2);
  const ttlMs = 4_000;
  // A third of the TTL is over after each beat when the next one goes out: this meets it, and leaves time for another.
  const outageMs = ttlMs * 0.42;
  const { NODE_OPTIONS: _testsOwn, ...env } = process.env;
  const child = fork(HOLDER, [proxy.url, POOL, ttlMs, COMMAND_TIMEOUT_MS].map(String), { execArgv: [], env });
  killAtExit(child);
  const said: { held?: string[]; lost?: string; ended?: object }[] = [];
  child.on('message', (message: object) => said.push(message));
  const hears = <T>(find: () => T) => waitUntil(find, { what: 'the holder', deadlineMs: 15_000 });
  const held = await hears(() => said.find((message) => message.held)?.held);

  const expiries = () => Promise.all(held.map((lease) => direct.context.get(LeaseService).get(POOL, lease)));
  // Each is live all the time: one that is not cannot be read.
  const untilExtended = async () => {
    const before = await expiries();
    await hears(async () => (await expiries()).every(({ expiresAt }, n) => expiresAt > (before[n]?.expiresAt ?? '')));
  };
  for (let cuts = 0; cuts < 2; cuts++) {
    proxy.cut();
    await untilExtended();
  }
  proxy.dropRequests();
  await sleep(outageMs);
  proxy.pass();
  await untilExtended();
  expect(said.filter(({ lost }) => lost)).toEqual([]);

  proxy.stall();
  await hears(() => said.filter(({ lost }) => lost).length === 2);
  await waitUntil(async () => (await look()).inFlight === 0, { what: 'the leases to expire' });
  proxy.pass();
  child.send({ end: true });
  // The lease is over, or the connection not yet back to be told so.
  const ended = await hears(() => said.find((message) => message.ended)?.ended);
  expect(ended).toEqual({
    hold: expect.stringMatching(/^(LEASE_EXPIRED|REDIS_UNAVAILABLE)$/),
    work: 'the work was broken off',
  });
  await exited(child);
  expect(child.exitCode).toBe(0);
});

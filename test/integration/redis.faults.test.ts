import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { inspect } from 'node:util';
import type { Redis } from 'ioredis';
import { RedisRefusedError, RedisUnavailableError } from '../../src/errors/domain.errors.js';
import type { RedisClient } from '../../src/redis/redis.client.js';
import { redisCall } from '../../src/redis/redis.call.js';
import { RedisScript } from '../../src/redis/redis.script.js';
import { freePort } from '../support/free.port.js';
import { OpenedClients } from '../support/opened.clients.js';
import type { RecordingLogger } from '../support/recording.logger.js';
import { startCluster } from '../support/redis.cluster.js';
import { startRedis, type RedisServer } from '../support/redis.server.js';
import { TcpProxy } from '../support/tcp.proxy.js';
import { waitUntil } from '../support/wait.until.js';

const COMMAND_TIMEOUT_MS = 300;
/** Far above what a command may take, far below "it hangs". */
const BOUND_MS = 5_000;
const COUNT = new RedisScript("return redis.call('INCR', KEYS[1])");

const clients = new OpenedClients();
afterEach(() => clients.closeAll());

let server: RedisServer;
let proxy: TcpProxy;
let client: RedisClient;
let logger: RecordingLogger;
let key: string;
let tests = 0;

beforeAll(async () => {
  server = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
});
afterAll(() => server.stop());
beforeEach(async () => {
  key = `count-${(tests += 1)}`;
  proxy = await clients.alsoStop(TcpProxy.start(server.port));
  const options = { connection: { url: proxy.url }, commandTimeoutMs: COMMAND_TIMEOUT_MS };
  ({ client, logger } = await clients.open(options));
});

const increment = (): Promise<number> => redisCall(client.incr(key));
const countOnServer = async (name = key): Promise<number> => Number(await server.client().get(name));

async function expectUnavailable(call: Promise<unknown>, reason = /^/): Promise<void> {
  const startedAt = Date.now();
  const error = await call.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  expect(error).toBeInstanceOf(RedisUnavailableError);
  expect((error as Error).message).toMatch(reason);
  expect(Date.now() - startedAt).toBeLessThan(BOUND_MS);
}

/** Waits until the client works again, with other keys: whatever it kept for later has been sent by then. */
async function untilBack(): Promise<void> {
  for (let n = 0; n < 10; n += 1) await waitUntil(() => client.incr('back'), { what: 'the client to be back' });
}

describe('a command whose reply is lost', () => {
  test('fails after the command timeout, was carried out, and is not sent again', async () => {
    proxy.dropReplies();
    await expectUnavailable(increment(), /may have been carried out/);
    proxy.pass();
    await untilBack();
    expect(await countOnServer()).toBe(1);
  });

  test('fails with everything else in flight, scripts too, and none of it is sent again', async () => {
    await COUNT.run(client, ['loaded'], []);
    proxy.dropReplies();
    const names = Array.from({ length: 40 }, (_, n) => `${key}-${n}`);
    const calls = names.map((name, n) => (n % 2 ? redisCall(client.incr(name)) : COUNT.run(client, [name], [])));
    await Promise.all(calls.map((call) => expectUnavailable(call)));
    proxy.pass();
    await untilBack();
    expect(await Promise.all(names.map((name) => countOnServer(name)))).toEqual(names.map(() => 1));
  });

  test('is not sent again by a client of a cluster either', async () => {
    const cluster = await clients.alsoStop(startCluster(2));
    const front = await clients.alsoStop(TcpProxy.start(cluster.nodes[0]!.port));
    const nodes = cluster.nodes.map((node) => node.client());
    await nodes[0]!.config('SET', 'cluster-announce-port', front.port);
    const isKnown = async (node: Redis) => String(await node.call('CLUSTER', 'SLOTS')).includes(`,${front.port},`);
    for (const node of nodes) await waitUntil(() => isKnown(node), { what: 'the port of the proxy' });
    const connection = { clusterNodes: [{ host: '127.0.0.1', port: front.port }] };
    const opened = await clients.open({ connection });

    front.dropReplies();
    const names = Array.from({ length: 30 }, (_, n) => `${key}-${n}`);
    const settling = Promise.allSettled(names.map((name) => redisCall(opened.client.incr(name))));
    const sizes = () => Promise.all(nodes.map((node) => node.dbsize()));
    await waitUntil(async () => (await sizes()).reduce((sum, size) => sum + size) === names.length);
    front.pass();
    front.cut();
    const calls = await settling;
    const failures = calls.filter((call) => call.status === 'rejected');
    expect(failures.length).toBeGreaterThan(0);
    expect(failures.length).toBeLessThan(names.length);
    for (const { reason } of failures) expect(reason).toBeInstanceOf(RedisUnavailableError);
    for (const name of names) await waitUntil(() => opened.client.set(`{${name}}back`, 1), { what: 'both nodes' });
    const counts = await Promise.all(names.map((name) => opened.client.get(name)));
    expect(counts).toEqual(names.map(() => '1'));
  });
});

describe('a command that does not arrive', () => {
  test('fails after the command timeout, and is not kept for later', async () => {
    proxy.dropRequests();
    await expectUnavailable(increment());
    proxy.pass();
    await untilBack();
    expect(await countOnServer()).toBe(0);
  });

  test('fails when the connection is cut', async () => {
    proxy.stall();
    const call = increment();
    proxy.cut();
    await expectUnavailable(call);
    proxy.pass();
    await untilBack();
    expect(await countOnServer()).toBe(0);
  });

  test('fails while the network stalls, and the client is back when it moves again', async () => {
    proxy.stall();
    await Promise.all([increment(), increment()].map((call) => expectUnavailable(call)));
    proxy.pass();
    await untilBack();
    expect(await countOnServer()).toBeLessThanOrEqual(2);
  });
});

describe('a server', () => {
  test('that hangs fails commands in time, and carries out at most what was sent, once', async () => {
    server.pause();
    try {
      await expectUnavailable(increment());
    } finally {
      server.resume();
    }
    await untilBack();
    expect(await countOnServer()).toBe(1);
  });

  test('that hangs does not keep the client from closing', async () => {
    const opened = await clients.open({ connection: { url: proxy.url }, commandTimeoutMs: 60_000 });
    server.pause();
    const startedAt = Date.now();
    try {
      await opened.connector.close();
    } finally {
      server.resume();
    }
    expect(Date.now() - startedAt).toBeLessThan(BOUND_MS);
    await waitUntil(() => opened.client.status === 'end', { what: 'the end of the connection' });
  });

  test('that is killed is logged once, however many commands fail, and once more when it is back', async () => {
    await increment();
    for (const outage of [1, 2]) {
      await server.kill();
      try {
        await waitUntil(() => logger.matching(/is unavailable/).length === outage, { what: 'the outage in the log' });
        for (let n = 0; n < 50; n += 1) await expectUnavailable(increment());
        await waitUntil(() => proxy.connections > outage * 4, { what: 'several reconnections' });
      } finally {
        await server.start();
      }
      await untilBack();
      await waitUntil(() => logger.matching(/is back after/).length === outage, { what: '"back" in the log' });
    }
    expect(logger.lines).toHaveLength(4);
    expect(await countOnServer()).toBe(1);
  });

  test('that forgot its scripts is given them again', async () => {
    await COUNT.run(client, [key], []);
    await server.client().call('SCRIPT', 'FLUSH');
    expect(await COUNT.run(client, [key], [])).toBe(2);
  });

  test('that became a replica fails writes until it is primary again, logged once', async () => {
    await COUNT.run(client, [key], []);
    const admin = server.client();
    await admin.call('REPLICAOF', '127.0.0.1', await freePort());
    try {
      await expectUnavailable(increment(), /read-only replica/);
      for (let n = 0; n < 20; n += 1) await expectUnavailable(COUNT.run(client, [key], []));
      expect(logger.matching(/is unavailable/)).toHaveLength(1);
      expect(logger.matching(/is back after/)).toHaveLength(0);
    } finally {
      await admin.call('REPLICAOF', 'NO', 'ONE');
    }
    await untilBack();
    await waitUntil(() => logger.matching(/is back after/).length === 1, { what: '"back" in the log' });
    expect(await countOnServer()).toBe(1);
  });

  test('that is busy with a script counts as away', async () => {
    const admin = server.client();
    await admin.config('SET', 'lua-time-limit', '10');
    const hasEnded = server
      .client()
      .eval('while true do end', 0)
      .catch(() => undefined);
    try {
      const isBusy = (error: unknown) => String(error).includes('BUSY');
      await waitUntil(() => client.ping().then(() => false, isBusy), { what: 'the script to be in the way' });
      await expectUnavailable(increment(), /busy with a script/);
    } finally {
      await waitUntil(() => admin.call('SCRIPT', 'KILL'));
      await hasEnded;
    }
    expect(await increment()).toBe(1);
  });

  test('that is out of memory refuses, which is no outage, and the error shows no arguments', async () => {
    const admin = server.client();
    await admin.config('SET', 'maxmemory', '1');
    try {
      await expect(increment()).rejects.toThrow(RedisRefusedError);
      await expect(COUNT.run(client, [key], [])).rejects.toThrow(/out of memory/);
      const error: unknown = await redisCall(client.set(key, 'hush-hush')).catch((failure: unknown) => failure);
      expect(error).toBeInstanceOf(RedisRefusedError);
      expect(inspect(error, { depth: 10, showHidden: true })).not.toContain('hush-hush');
    } finally {
      await admin.config('SET', 'maxmemory', '0');
    }
    expect(logger.lines).toEqual([]);
  });
});

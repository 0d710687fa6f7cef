import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Cluster } from 'ioredis';
import { RedisRefusedError, RedisUnavailableError } from '../../src/errors/domain.errors.js';
import { describeTarget } from '../../src/redis/redis.target.js';
import { isSupported } from '../../src/redis/redis.version.js';
import { freePort } from '../support/free.port.js';
import { OpenedClients } from '../support/opened.clients.js';
import { RecordingLogger } from '../support/recording.logger.js';
import { startCluster, type RedisClusterServers } from '../support/redis.cluster.js';
import { startRedis, type RedisServer } from '../support/redis.server.js';
import { TcpProxy } from '../support/tcp.proxy.js';
import { waitUntil } from '../support/wait.until.js';

const clients = new OpenedClients();
afterEach(() => clients.closeAll());

describe('a single server', () => {
  let server: RedisServer;
  let socketPath: string;

  beforeAll(async () => {
    const dir = mkdtempSync(join(tmpdir(), 'evenhand-socket-'));
    socketPath = join(dir, 'with space.sock');
    server = await startRedis({ dir, args: ['--unixsocket', socketPath] });
    const admin = server.client();
    await admin.call('ACL', 'SETUSER', 'worker', 'on', '>p@ss:w/rd', '~evenhand:*', '+@all', '-@dangerous');
  });
  afterAll(async () => {
    await server.stop();
    rmSync(server.dir, { recursive: true });
  });

  test('is reached by redis://, in the database that the URL names', async () => {
    const { client } = await clients.open({ connection: { url: `${server.url}/3` } });
    await client.set('evenhand:where', 'here');
    const look = server.client();
    await look.select(3);
    expect(await look.get('evenhand:where')).toBe('here');
  });

  test('is reached by unix://, also where the path needs encoding', async () => {
    const url = `unix://${encodeURI(socketPath)}?db=2`;
    const { client } = await clients.open({ connection: { url } });
    expect(await client.call('CLIENT', 'INFO')).toMatch(/db=2 .*/);
    expect(describeTarget({ url })).toBe(socketPath);
  });

  test('takes an ACL user that may send no INFO, with a password that needs encoding', async () => {
    const url = server.url.replace('//', `//worker:${encodeURIComponent('p@ss:w/rd')}@`);
    const { client, logger } = await clients.open({ connection: { url } });
    expect(await client.call('ACL', 'WHOAMI')).toBe('worker');
    expect(logger.lines).toEqual([]);
    expect(describeTarget({ url })).toBe(`127.0.0.1:${server.port}`);
  });

  test('that refuses the password ends the start at once, and the password shows nowhere', async () => {
    const url = server.url.replace('//', '//worker:hush-hush@');
    const logger = new RecordingLogger();
    const startedAt = Date.now();
    const attempt = clients.open({ connection: { url } }, 10_000, logger);
    const error = await attempt.then(
      () => undefined,
      (failure: unknown) => failure as Error,
    );
    expect(error).toBeInstanceOf(RedisRefusedError);
    expect(error?.message).toMatch(/refuses the connection: WRONGPASS/);
    expect(Date.now() - startedAt).toBeLessThan(5_000);
    expect(logger.lines.length).toBeGreaterThan(0);
    expect([...logger.lines, error?.message, error?.stack].join()).not.toContain('hush-hush');
  });

  test('that is not there is named, after a bounded time', async () => {
    const url = `redis://:hush-hush@127.0.0.1:${await freePort()}`;
    const logger = new RecordingLogger();
    const attempt = clients.open({ connection: { url } }, 300, logger);
    await expect(attempt).rejects.toThrow(RedisUnavailableError);
    await expect(attempt).rejects.toThrow(
      /127\.0\.0\.1:\d+\) could not be reached within 0\.3 s: connect ECONNREFUSED/,
    );
    expect(logger.lines).toHaveLength(1);
    expect(logger.lines.join()).not.toContain('hush-hush');
  });

  test('that starts a little later is waited for', async () => {
    const port = await freePort();
    const opening = clients.open({ connection: { url: `redis://127.0.0.1:${port}` } });
    await clients.alsoStop(startRedis({ port }));
    expect(await (await opening).client.ping()).toBe('PONG');
  });

  test('that is older than 6.2 is refused with its version', async () => {
    const version = /redis_version:(\S+)/.exec(await server.client().info('server'))![1]!;
    const proxy = await clients.alsoStop(TcpProxy.start(server.port));
    proxy.rewriteReplies(version, version.replace(/^\d\.\d/, '6.1'));
    const attempt = clients.open({ connection: { url: proxy.url } });
    await expect(attempt).rejects.toThrow(RedisRefusedError);
    await expect(attempt).rejects.toThrow(/is version 6\.1\.\d+, which is too old: 6\.2 or newer/);
    const versions = ['5.0.14', '6.0.20', '6.1.9', '6.2.0', '7.0.15', '8.1.1', undefined, 'unstable'];
    expect(versions.filter(isSupported)).toEqual(['6.2.0', '7.0.15', '8.1.1']);
  });
});

describe('TLS', () => {
  let dir: string;
  let server: RedisServer;
  let port: number;

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'evenhand-tls-'));
    const openssl = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
    execFileSync('openssl', [...openssl, ...subject, '-keyout', 'key.pem', '-out', 'cert.pem'], {
      cwd: dir,
      stdio: 'ignore',
    });
    port = await freePort();
    const tls = ['--tls-cert-file', 'cert.pem', '--tls-key-file', 'key.pem', '--tls-auth-clients', 'no'];
    server = await startRedis({ dir, args: ['--tls-port', String(port), ...tls] });
  });
  afterAll(async () => {
    await server.stop();
    rmSync(dir, { recursive: true });
  });

  test('by rediss:// checks the certificate against the CA that is given', async () => {
    const ca = readFileSync(join(dir, 'cert.pem'));
    const { client } = await clients.open({ connection: { url: `rediss://localhost:${port}`, tls: { ca } } });
    expect(await client.ping()).toBe('PONG');
  });

  test('by rediss:// refuses a certificate that nobody vouches for', async () => {
    const attempt = clients.open({ connection: { url: `rediss://localhost:${port}` } }, 300);
    await expect(attempt).rejects.toThrow(/self-signed certificate/);
  });
});

describe('a cluster', () => {
  let cluster: RedisClusterServers;
  beforeAll(async () => {
    cluster = await startCluster(3, {
      args: ['--requirepass', 'hush-hush', '--masterauth', 'hush-hush'],
      credentials: { password: 'hush-hush' },
    });
  });
  afterAll(() => cluster.stop());

  const connection = () => ({
    clusterNodes: [{ host: '127.0.0.1', port: cluster.nodes[0]!.port }],
    password: 'hush-hush',
  });

  test('takes keys of every slot from the first moment on', async () => {
    const { client, logger } = await clients.open({ connection: connection() });
    const keys = Array.from({ length: 60 }, (_, n) => `evenhand:{pool-${n}}:ready`);
    await Promise.all(keys.map((key) => client.incr(key)));
    const sizes = await Promise.all(cluster.nodes.map((node) => node.client().dbsize()));
    expect(sizes.every((size) => size > 0)).toBe(true);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(60);
    expect(logger.lines).toEqual([]);
  });

  test('whose node dies fails the calls to it at once, logs it once, and works when it is back', async () => {
    const { client, logger } = await clients.open({ connection: connection(), commandTimeoutMs: 500 });
    const key = await keyOn(client as Cluster, cluster.nodes[1]!.port);
    await cluster.nodes[1]!.kill();
    for (let n = 0; n < 20; n += 1) {
      const startedAt = Date.now();
      await expect(client.incr(key)).rejects.toThrow();
      expect(Date.now() - startedAt).toBeLessThan(1_500);
    }
    await cluster.nodes[1]!.start();
    const count = await waitUntil(() => client.incr(key), { deadlineMs: 15_000, what: 'the node to be back' });
    expect(count).toBe(1);
    const port = cluster.nodes[1]!.port;
    await waitUntil(() => logger.matching(new RegExp(`:${port}\\) is back after`)).length === 1, { what: '"back"' });
    expect(logger.matching(new RegExp(`:${port}\\) is unavailable`))).toHaveLength(1);
    expect(logger.lines.join()).not.toContain('hush-hush');
  });

  test('that is none is refused', async () => {
    const single = await clients.alsoStop(startRedis());
    const attempt = clients.open({ connection: { clusterNodes: [{ host: '127.0.0.1', port: single.port }] } });
    await expect(attempt).rejects.toThrow(/refuses the connection: ERR This instance has cluster support disabled/);
  });
});

/** A key that the node on a port holds. */
async function keyOn(client: Cluster, port: number): Promise<string> {
  const slots = (await client.call('CLUSTER', 'SLOTS')) as [number, number, [string, number]][];
  for (let n = 0; ; n += 1) {
    const key = `evenhand:{node-${n}}:count`;
    const slot = Number(await client.call('CLUSTER', 'KEYSLOT', key));
    if (slots.some(([from, to, [, owner]]) => slot >= from && slot <= to && owner === port)) return key;
  }
}

describe('sentinels', () => {
  let primary: RedisServer;
  let replica: RedisServer;
  let sentinel: RedisServer;

  beforeAll(async () => {
    const auth = ['--requirepass', 'hush-hush', '--masterauth', 'hush-hush'];
    const credentials = { password: 'hush-hush' };
    primary = await startRedis({ args: auth, credentials });
    const replicaArgs = [...auth, '--replicaof', `127.0.0.1 ${primary.port}`, '--repl-diskless-sync-delay', '0'];
    replica = await startRedis({ args: replicaArgs, credentials });
    sentinel = await startSentinel(primary.port);
  });
  afterAll(async () => {
    await Promise.all([primary, replica, sentinel].map((server) => server.stop()));
    rmSync(sentinel.dir, { recursive: true, force: true });
  });

  test('that do not know the name say so', async () => {
    const connection = { sentinels: [{ host: '127.0.0.1', port: sentinel.port }], name: 'other' };
    await expect(clients.open({ connection }, 500)).rejects.toThrow(/No such master with that name/);
  });

  test('lead to the primary, and to the new one after a failover', async () => {
    const sentinels = [{ host: '127.0.0.1', port: sentinel.port }];
    const connection = { sentinels, name: 'mymaster', password: 'hush-hush' };
    const { client, logger } = await clients.open({ connection, commandTimeoutMs: 500 });
    await client.set('evenhand:before', 'kept');
    const look = sentinel.client();
    await waitUntil(async () =>
      String(await look.call('SENTINEL', 'REPLICAS', 'mymaster')).includes(String(replica.port)),
    );
    await waitUntil(async () => (await replica.client().get('evenhand:before')) === 'kept', { what: 'replication' });
    await primary.kill();
    await waitUntil(() => client.set('evenhand:after', 'written'), { deadlineMs: 20_000, what: 'the failover' });
    expect(await replica.client().get('evenhand:after')).toBe('written');
    expect(logger.matching(/is unavailable/)).toHaveLength(1);
    await waitUntil(() => logger.matching(/is back after/).length === 1, { what: '"back"' });
    expect(logger.lines.join()).not.toContain('hush-hush');
  });
});

async function startSentinel(primaryPort: number): Promise<RedisServer> {
  const dir = mkdtempSync(join(tmpdir(), 'evenhand-sentinel-'));
  const config = join(dir, 'sentinel.conf');
  const lines = [
    `sentinel monitor mymaster 127.0.0.1 ${primaryPort} 1`,
    'sentinel auth-pass mymaster hush-hush',
    'sentinel down-after-milliseconds mymaster 500',
    'sentinel failover-timeout mymaster 3000',
  ];
  writeFileSync(config, `${lines.join('\n')}\n`);
  return startRedis({ dir, args: [config], sentinel: true });
}

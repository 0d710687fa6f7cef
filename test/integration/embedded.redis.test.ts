import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isRunning } from '../../src/redis/embedded/process.identity.js';
import { RedisService } from '../support/redis.service.js';
import { waitUntil } from '../support/wait.until.js';

let temporary: string;
let dataDir: string;
const services: RedisService[] = [];
const redisDir = () => join(dataDir, 'redis');

beforeAll(() => {
  execFileSync(process.execPath, [fileURLToPath(new URL('../../scripts/build.mjs', import.meta.url))]);
});

beforeEach(() => {
  temporary = mkdtempSync(join(tmpdir(), 'evenhand-data-'));
  dataDir = temporary;
});

afterEach(async () => {
  await Promise.all(services.splice(0).map((service) => service.kill()));
  const left = rememberedServer();
  if (left !== undefined && isRunning(left)) process.kill(left.pid, 'SIGKILL');
  rmSync(temporary, { recursive: true, force: true });
});

async function start(env: NodeJS.ProcessEnv = {}): Promise<RedisService> {
  const service = await RedisService.start(dataDir, env);
  services.push(service);
  return service;
}

/** The server's process, as the service noted it. */
function rememberedServer(): { pid: number; startedAt?: number } | undefined {
  const path = join(redisDir(), 'server.json');
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as { pid: number }) : undefined;
}

/** Field 5 of /proc/<pid>/stat. */
function processGroup(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]);
}

/** The file that the append-only log grows in. */
function appendOnlyFile(): string {
  const directory = join(redisDir(), 'appendonlydir');
  return join(directory, readdirSync(directory).find((name) => name.endsWith('.incr.aof')) ?? 'no append-only file');
}

describe('an embedded Redis', () => {
  test('is private to its owner, has no port, and appends to a file every second', async () => {
    const service = await start();
    expect(statSync(redisDir()).mode & 0o777).toBe(0o700);
    expect(statSync(join(redisDir(), 'redis.sock')).mode & 0o777).toBe(0o700);
    for (const name of ['redis.conf', 'redis.log', 'service.lock', 'server.json']) {
      expect([name, statSync(join(redisDir(), name)).mode & 0o077]).toEqual([name, 0]);
    }
    expect(await service.call('CONFIG', 'GET', 'port')).toEqual(['port', '0']);
    expect(await service.call('CONFIG', 'GET', 'appendonly')).toEqual(['appendonly', 'yes']);
    expect(await service.call('CONFIG', 'GET', 'appendfsync')).toEqual(['appendfsync', 'everysec']);
    expect(await service.call('CONFIG', 'GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'noeviction']);
  });

  test('ends with its service, and the next one finds all counts again', async () => {
    const first = await start();
    await first.call('ZINCRBY', 'counts', '41', 'a');
    const pid = await first.redisPid();
    await first.stop();
    expect(isRunning({ pid })).toBe(false);
    expect(existsSync(join(redisDir(), 'service.lock'))).toBe(false);
    const second = await start();
    expect(await second.redisPid()).not.toBe(pid);
    expect(await second.call('ZINCRBY', 'counts', '1', 'a')).toEqual('42');
  });

  test('outlives a service that is killed, and the next one takes it over', async () => {
    const first = await start();
    const pid = await first.redisPid();
    for (let n = 0; n < 100; n += 1) await first.call('INCR', 'count');
    await first.kill();
    expect(isRunning({ pid })).toBe(true);
    const second = await start();
    expect(await second.redisPid()).toBe(pid);
    expect(await second.call('INCR', 'count')).toBe(101);
    expect(second.output).toContain(`Taking over the embedded Redis (process ${pid})`);
    await second.stop();
    expect(isRunning({ pid })).toBe(false);
  });

  test('is taken over only once, by whichever of several services comes first', async () => {
    const first = await start();
    const pid = await first.redisPid();
    await first.kill();
    const rivals = await Promise.allSettled(Array.from({ length: 4 }, () => start()));
    const refusals = rivals.flatMap((rival) => (rival.status === 'rejected' ? [String(rival.reason)] : []));
    expect(refusals).toHaveLength(3);
    for (const refusal of refusals) expect(refusal).toMatch(/Another Evenhand \(process \d+\) uses/);
    expect(services).toHaveLength(2);
    expect(await services[1]!.redisPid()).toBe(pid);
  });

  test('refuses a second service, which says what to do, while the first goes on', async () => {
    const first = await start();
    await expect(start()).rejects.toThrow(
      `EmbeddedRedisError: Another Evenhand (process ${first.pid}) uses the data directory ${redisDir()}.\n` +
        'Use another DATA_DIR, or give both the same REDIS_URL so that they share one Redis.',
    );
    expect(await first.call('INCR', 'count')).toBe(1);
    await first.stop();
    expect(await (await start()).call('INCR', 'count')).toBe(2);
  });

  test('that dies is started again, and the same client goes on', async () => {
    const service = await start();
    await service.call('SET', 'kept', 'yes');
    await service.call('CONFIG', 'SET', 'appendfsync', 'always');
    await service.call('INCR', 'count');
    const pid = await service.redisPid();
    process.kill(pid, 'SIGKILL');
    await waitUntil(async () => (await service.redisPid()) !== pid, { what: 'the restart' });
    expect(await service.call('MGET', 'kept', 'count')).toEqual(['yes', '1']);
    expect(service.output).toContain(`The embedded Redis (process ${pid}) ended unexpectedly and is started again.`);
    await waitUntil(() => /is back after/.test(service.output), { what: '"is back"' });
    expect(service.output.match(/is unavailable/g)).toHaveLength(1);
    const second = await service.redisPid();
    await service.stop();
    expect(isRunning({ pid: second })).toBe(false);
  });

  test('that was taken over and dies is started again as well', async () => {
    const first = await start();
    await first.kill();
    const second = await start();
    const pid = await second.redisPid();
    process.kill(pid, 'SIGKILL');
    await waitUntil(async () => (await second.redisPid()) !== pid, { what: 'the restart' });
  });

  test('does not get the Ctrl-C that ends its service, and is there until the service has closed', async () => {
    const service = await start();
    const pid = await service.redisPid();
    expect(processGroup(service.pid)).toBe(service.pid);
    expect(processGroup(pid)).toBe(pid);
    await service.interrupt();
    expect(isRunning({ pid })).toBe(false);
    expect(service.output).not.toMatch(/unavailable|unexpectedly/);
    expect(await (await start()).call('GET', 'last-words')).toBe('1');
  });

  test('whose path is too long for a socket listens on loopback, and its password shows nowhere', async () => {
    dataDir = join(dataDir, 'x'.repeat(120));
    const service = await start();
    const pid = await service.redisPid();
    const [, password] = (await service.call('CONFIG', 'GET', 'requirepass')) as [string, string];
    expect(password).toMatch(/^[0-9a-f]{48}$/);
    expect(await service.call('CONFIG', 'GET', 'bind')).toEqual(['bind', '127.0.0.1']);
    const [, port] = (await service.call('CONFIG', 'GET', 'port')) as [string, string];
    expect(Number(port)).toBeGreaterThan(1023);
    // What `ps` shows.
    for (const name of ['cmdline', 'environ']) {
      expect(readFileSync(`/proc/${pid}/${name}`, 'utf8')).not.toContain(password);
      expect(readFileSync(`/proc/${service.pid}/${name}`, 'utf8')).not.toContain(password);
    }
    for (const name of ['redis.conf', 'endpoint.json']) {
      expect(statSync(join(redisDir(), name)).mode & 0o077).toBe(0);
    }
    await service.call('INCR', 'count');
    await service.kill();
    const second = await start();
    expect(await second.redisPid()).toBe(pid);
    process.kill(pid, 'SIGKILL');
    await waitUntil(async () => (await second.redisPid()) !== pid, { what: 'the restart' });
    const log = readFileSync(join(redisDir(), 'redis.log'), 'utf8');
    expect(service.output + second.output + log).not.toContain(password);
  });

  test('starts with a file whose last command was cut off', async () => {
    const first = await start();
    await first.call('SET', 'kept', 'yes');
    await first.call('SET', 'cut', 'off');
    await first.stop();
    const file = appendOnlyFile();
    truncateSync(file, statSync(file).size - 3);
    const second = await start();
    expect(await second.call('MGET', 'kept', 'cut')).toEqual(['yes', null]);
  });

  test('says why it cannot start with a file that is damaged, and leaves the directory free', async () => {
    const first = await start();
    await first.call('SET', 'kept', 'yes');
    await first.stop();
    const intact = readFileSync(appendOnlyFile());
    appendFileSync(appendOnlyFile(), 'no command at all\r\n'.repeat(3));
    await expect(start()).rejects.toThrow(/did not start\. The end of .*redis\.log:\n[^]*Bad file format[^]*--fix/);
    expect(existsSync(join(redisDir(), 'service.lock'))).toBe(false);
    writeFileSync(appendOnlyFile(), intact);
    expect(await (await start()).call('GET', 'kept')).toBe('yes');
  });

  test('says so where the data directory cannot be made', async () => {
    writeFileSync(join(dataDir, 'file'), '');
    dataDir = join(dataDir, 'file', 'data');
    await expect(start()).rejects.toThrow(/^EmbeddedRedisError: DATA_DIR ".*" cannot hold the embedded Redis: ENOTDIR/);
  });
});

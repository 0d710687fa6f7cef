import { afterEach, describe, expect, test } from '@jest/globals';
import { type AddressInfo, createServer } from 'node:net';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exited } from '../support/child.processes.js';
import { type RedisServer, startRedis } from '../support/redis.server.js';
import { RunningService } from '../support/service.js';
import { waitUntil } from '../support/wait.until.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of cleanUp.splice(0).reverse()) await step();
});

async function start(env: Record<string, string>): Promise<RunningService> {
  const service = await RunningService.start(env);
  cleanUp.push(() => service.stop('SIGKILL'));
  return service;
}

async function redis(args: string[] = []): Promise<RedisServer> {
  const server = await startRedis({ args });
  cleanUp.push(() => server.stop());
  return server;
}

function dataDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'evenhand-data-'));
  cleanUp.push(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

describe('start', () => {
  test('says where the API, its documentation and a first curl are, and the commands work as they stand', async () => {
    const service = await start({ REDIS_URL: (await redis()).url });
    expect(service.log).toContain(`API            ${service.url}/v1/pools`);
    expect(service.log).toContain(`Documentation  ${service.url}/docs`);
    const commands = service.log.split('\n').filter((line) => line.startsWith('  curl'));
    expect(commands).toHaveLength(3);
    const outputs: string[] = [];
    for (const command of commands) outputs.push(await shell(command));
    expect(JSON.parse(outputs[1] ?? '')).toMatchObject({ added: 2 });
    expect(JSON.parse(outputs[2] ?? '')).toMatchObject({ selection: { member: { id: 'http://192.0.2.1:8080' } } });
  });

  test('with an embedded Redis keeps all counts over a stop and a start', async () => {
    const env = { DATA_DIR: dataDir() };
    const first = await start(env);
    await first.call('PUT', '/v1/pools/shop');
    await first.text('/v1/pools/shop/members', '192.0.2.1:8080\n192.0.2.2:8080\n');
    await first.call('POST', '/v1/pools/shop/selections/batch', { count: 5 });
    expect(await first.stop('SIGINT')).toBe(0);

    const second = await start(env);
    expect((await second.call('GET', '/v1/pools/shop')).body).toMatchObject({ assigned: 5, members: { total: 2 } });
    const next = await second.call('POST', '/v1/pools/shop/selections');
    expect(next.body).toMatchObject({ selection: { member: { id: 'http://192.0.2.2:8080' }, assigned: 3 } });
    expect(await second.stop('SIGINT')).toBe(0);
  });

  test('sets up the pools of a file before it listens, and again without a change', async () => {
    const env = { REDIS_URL: (await redis()).url, POOLS_FILE: join(ROOT, 'examples/pools.yaml') };
    const first = await start(env);
    expect((await first.call('GET', '/v1/pools/shop')).body).toMatchObject({ restore: 'level' });
    const members = (await first.call('GET', '/v1/pools/shop/members')).body;
    expect(members['members']).not.toEqual([]);
    expect(first.log).toMatch(/Pool "shop": \d+ added, 0 updated/);
    await first.stop();
    const second = await start(env);
    expect(second.log).toMatch(/Pool "shop": 0 added, 0 updated, 0 restored, \d+ unchanged, 0 removed/);
    expect((await second.call('GET', '/v1/pools/shop/members')).body).toEqual(members);
  });

  test('with a pools file that is not valid is refused, with the line', async () => {
    const file = join(dataDir(), 'pools.yaml');
    writeFileSync(file, 'pools:\n  shop:\n    restore: never\n');
    const { code, output } = await RunningService.startInVain({ REDIS_URL: (await redis()).url, POOLS_FILE: file });
    expect(code).toBe(1);
    expect(output).toMatch(/pools\.yaml:3: pools\.shop\.restore: /);
    expect(output).not.toMatch(/\n {4}at /);
  });

  test.each([
    [{ HOST: '0.0.0.0' }, /HOST: must be a loopback address/],
    [{ PORT: 'x', LOG_LEVEL: 'loud' }, /PORT: [\s\S]*LOG_LEVEL: /],
    [{ API_KEYS: 'worker:hush-hush' }, /API_KEYS: /],
    [{ SELECTION_STRATEGY: 'nonsense' }, /no strategy "nonsense"\. Known strategies: .*least-assigned/],
  ])('with %j is refused in plain words', async (env, message) => {
    const { code, output } = await RunningService.startInVain({ REDIS_URL: (await redis()).url, ...env });
    expect(code).toBe(1);
    expect(output).toMatch(message);
    expect(output).not.toMatch(/hush-hush|\n {4}at /);
  });

  test('on a port that is taken is refused in plain words', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await waitUntil(() => taken.listening, { what: 'the port to be taken' });
    cleanUp.push(() => taken.close());
    const env = { REDIS_URL: (await redis()).url, PORT: String((taken.address() as AddressInfo).port) };
    const { code, output } = await RunningService.startInVain(env);
    expect(code).toBe(1);
    expect(output).toMatch(/EADDRINUSE/);
    expect(output).not.toMatch(/\n {4}at /);
  });
});

describe('while Redis is away', () => {
  test('calls fail with REDIS_UNAVAILABLE, one line is logged, and work goes on when it is back', async () => {
    const server = await redis(['--appendonly', 'yes', '--appendfsync', 'always']);
    const service = await start({ REDIS_URL: server.url });
    await service.call('PUT', '/v1/pools/shop');
    await service.text('/v1/pools/shop/members', '192.0.2.1:8080');
    await server.kill();
    for (let n = 0; n < 20; n++) {
      const answer = await service.call('POST', '/v1/pools/shop/selections');
      expect(answer).toMatchObject({ status: 503, body: { code: 'REDIS_UNAVAILABLE' } });
      expect(answer.headers.get('retry-after')).toBe('1');
    }
    expect((await service.call('GET', '/health/ready')).status).toBe(503);
    expect((await service.call('GET', '/health/live')).status).toBe(200);
    await server.start();
    const ready = async () => (await service.call('GET', '/health/ready')).status === 200;
    await waitUntil(ready, { deadlineMs: 15_000, what: 'the service to be ready again' });
    expect(await service.call('POST', '/v1/pools/shop/selections')).toMatchObject({
      body: { selection: { assigned: 1 } },
    });
    expect(service.log.match(/is unavailable/g)).toHaveLength(1);
    expect(service.log.match(/is back after/g)).toHaveLength(1);
  });

  test('a call that Redis does not answer fails within the command timeout', async () => {
    const server = await redis();
    const service = await start({ REDIS_URL: server.url, REDIS_COMMAND_TIMEOUT_MS: '200' });
    await service.call('PUT', '/v1/pools/shop');
    server.pause();
    const answer = await service.call('POST', '/v1/pools/shop/selections');
    server.resume();
    expect(answer).toMatchObject({ status: 503, body: { code: 'REDIS_UNAVAILABLE' } });
  });
});

describe('the end', () => {
  test('lets requests that are under way finish', async () => {
    const server = await redis();
    const service = await start({ REDIS_URL: server.url });
    await service.call('PUT', '/v1/pools/shop');
    await service.text('/v1/pools/shop/members', '192.0.2.1:8080');
    server.pause();
    const underWay = service.call('POST', '/v1/pools/shop/selections');
    const other = service.call('GET', '/v1/pools');
    await waitUntil(async () => (await fetchStatus(`${service.url}/health/live`)) === 200, { what: 'the service' });
    service.child.kill('SIGINT');
    await waitUntil(() => service.log.includes('SIGINT: ending'), { what: 'the signal to be seen' });
    server.resume();
    expect(await underWay).toMatchObject({ status: 200, body: { selection: { assigned: 1 } } });
    expect((await other).status).toBe(200);
    await exited(service.child);
    expect(service.child.exitCode).toBe(0);
  });

  test('comes at once at the second signal', async () => {
    const server = await redis();
    const service = await start({ REDIS_URL: server.url, REDIS_COMMAND_TIMEOUT_MS: '60000' });
    await service.call('PUT', '/v1/pools/shop');
    server.pause();
    const underWay = service.call('POST', '/v1/pools/shop/selections').catch(() => undefined);
    await waitUntil(async () => (await fetchStatus(`${service.url}/health/live`)) === 200, { what: 'the service' });
    service.child.kill('SIGINT');
    await waitUntil(() => service.log.includes('SIGINT: ending'), { what: 'the signal to be seen' });
    expect(await service.stop('SIGINT')).toBe(130);
    await underWay;
  });
});

async function fetchStatus(url: string): Promise<number> {
  const response = await fetch(url);
  await response.arrayBuffer();
  return response.status;
}

function shell(command: string): Promise<string> {
  const curl = command.trim().replace(/^curl/, 'curl -sS');
  return promisify(execFile)('bash', ['-c', curl]).then(({ stdout }) => stdout);
}

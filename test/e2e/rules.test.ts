import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { poolProblems } from '../support/pool.invariants.js';
import { type RedisServer, startRedis } from '../support/redis.server.js';
import { RunningService } from '../support/service.js';
import { storedKeys } from '../support/stored.keys.js';

let redisServer: RedisServer;
let redis: Redis;
let service: RunningService;

beforeAll(async () => {
  redisServer = await startRedis();
  redis = redisServer.client();
  service = await RunningService.start({ REDIS_URL: redisServer.url });
});
afterAll(async () => {
  await service.stop();
  await redisServer.stop();
});
beforeEach(() => redis.flushall());

const SHOP = '/v1/pools/shop';
const memberPath = (id: string) => `${SHOP}/members/${encodeURIComponent(id)}`;
const PROBE = { url: 'https://example.com/ip' };

describe('settings that are not valid are refused by their field', () => {
  test.each<[unknown, string]>([
    [{ rules: {} }, 'rules'],
    [{ policy: { colours: [] } }, 'policy.colours'],
    [{ policy: { deny: ['192.0.2.7/24'] } }, 'policy.deny.0'],
    [{ policy: { allow: ['192.0.2.0/24', 'nonsense'] } }, 'policy.allow.1'],
    [{ policy: { deny: [] } }, 'policy.deny'],
    [{ policy: { ports: ['9-8'] } }, 'policy.ports.0'],
    [{ policy: { schemes: ['ftp'] } }, 'policy.schemes.0'],
    [{ policy: { hostnames: true } }, 'policy.hostnames'],
    [{ policy: { labels: { required: { country: [] } } } }, 'policy.labels.required.country'],
    [{ policy: { labels: { wanted: {} } } }, 'policy.labels.wanted'],
    [{ policy: { credentials: 'maybe' } }, 'policy.credentials'],
    [{ policy: [] }, 'policy'],
    [{ candidates: 'maybe' }, 'candidates'],
    [{ candidates: 'probe' }, 'probe'],
    [{ candidates: 'probe', probe: null }, 'probe'],
    [{ probe: {} }, 'probe.url'],
    [{ probe: { url: 'http://user:s3cret@example.com/' } }, 'probe.url'],
    [{ probe: { ...PROBE, bodyPattern: '(' } }, 'probe.bodyPattern'],
    [{ probe: { ...PROBE, concurrency: 0 } }, 'probe.concurrency'],
    [{ filters: Array.from({ length: 9 }, (_, n) => [`label${n}`]) }, 'filters'],
    [{ filters: [['country'], ['country']] }, 'filters'],
    [
      {
        filters: [
          ['country', 'type'],
          ['type', 'country'],
        ],
      },
      'filters',
    ],
    [{ filters: [['country', 'country']] }, 'filters.0'],
    [{ filters: [[]] }, 'filters.0'],
    [{ filters: ['country'] }, 'filters.0'],
    [{ filters: [['']] }, 'filters.0.0'],
    [{ health: { failures: 0 } }, 'health.failures'],
    [{ health: { successRatio: { below: 2 } } }, 'health.successRatio.below'],
    [{ health: { maxEjected: 1.5 } }, 'health.maxEjected'],
    [{ bans: { cooldownMs: 10 } }, 'bans.cooldownMs'],
    [{ bans: { forMs: 10_000 } }, 'bans.forMs'],
    [{ session: { ttlMs: 1 } }, 'session.ttlMs'],
  ])('%j', async (settings, path) => {
    const { status, body } = await service.call<{ errors: { path: string }[] }>('PUT', SHOP, settings);
    expect(status).toBe(400);
    expect(body).toMatchObject({ code: 'VALIDATION_FAILED' });
    expect(body.errors.map((error) => error.path)).toContain(path);
    expect(JSON.stringify(body)).not.toContain('s3cret');
    expect(await storedKeys(redis)).toEqual([]);
  });

  test('a pool that probes its candidates cannot lose its probe', async () => {
    expect((await service.call('PUT', SHOP, { candidates: 'probe', probe: PROBE })).status).toBe(201);
    expect(await service.call('PUT', SHOP, { probe: null })).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'probe' }] },
    });
    expect((await service.call('PUT', SHOP, { candidates: 'trust', probe: null })).status).toBe(200);
  });
});

test('a policy is kept as a whole, shown, and dropped with null', async () => {
  const policy = { ports: [8080], deny: ['private'], labels: { required: { country: ['DE'] } } };
  expect((await service.call('PUT', SHOP, { policy })).body).toMatchObject({ policy });
  const { body } = await service.call<{ policy: object }>('PUT', SHOP, { policy: { hostnames: 'forbid' } });
  expect(body.policy).toEqual({ hostnames: 'forbid' });
  expect((await service.call('PUT', SHOP, { capacity: 3 })).body).toMatchObject({ policy: { hostnames: 'forbid' } });
  expect((await service.call('PUT', SHOP, { policy: null })).body).toMatchObject({ policy: null });
});

test('a member tells why it is not selected, and nothing of its value', async () => {
  await service.call('PUT', SHOP, { policy: { deny: ['203.0.113.0/24'] } });
  await service.text(`${SHOP}/members`, 'http://user:s3cret@203.0.113.7:8080\n198.51.100.7:8080\n');
  const list = await service.call<{ members: { id: string; reason: string | null }[] }>('GET', `${SHOP}/members`);
  const refused = list.body.members.find(({ reason }) => reason === 'policy');
  const { body } = await service.call('GET', memberPath(refused?.id ?? ''));
  expect(body).toMatchObject({
    state: 'withdrawn',
    reason: 'policy',
    reasons: ['policy'],
    evidence: 'has an address in the denied range 203.0.113.0/24',
    returnsAt: null,
  });
  expect(JSON.stringify([list.body, body])).not.toContain('s3cret');
  expect((await service.call('GET', memberPath('http://198.51.100.7:8080'))).body).toMatchObject({
    state: 'eligible',
    reasons: [],
    evidence: null,
  });
});

describe('explain', () => {
  const withLabels = (labels: unknown) => `${SHOP}/explain?labels=${encodeURIComponent(JSON.stringify(labels))}`;

  test('counts the members that are asked for', async () => {
    await service.call('PUT', SHOP, { policy: { labels: { required: { country: true } } } });
    const members = [{ id: 'a', labels: { country: 'DE' } }, { id: 'b', labels: { country: 'FR' } }, { id: 'c' }];
    await service.call('POST', `${SHOP}/members`, { members });
    expect((await service.call('GET', `${SHOP}/explain`)).body).toMatchObject({
      members: 3,
      eligible: 2,
      withdrawn: { policy: 1 },
      match: { selectable: 2 },
    });
    expect((await service.call('GET', withLabels({ country: 'DE' }))).body).toMatchObject({
      members: 3,
      match: { members: 1, selectable: 1 },
    });
    const exclude = encodeURIComponent('["a"]');
    expect((await service.call('GET', `${SHOP}/explain?target=example.com&exclude=${exclude}`)).body).toMatchObject({
      match: { excluded: 1, banned: 0, selectable: 1 },
    });
  });

  test.each([
    ['labels=country', 'labels'],
    ['labels=%5B%5D', 'labels'],
    ['labels=%7B%22a%22%3A%5B%5D%7D', 'labels.a'],
    ['labels=%7B%22a%22%3A1%2C%22a%22%3A2%7D', 'labels'],
    ['exclude=a', 'exclude'],
    ['exclude=%22a%22', 'exclude'],
    ['target=', 'target'],
    ['target=a&target=b', 'target'],
    ['session=x', 'session'],
  ])('refuses ?%s by its parameter', async (query, path) => {
    await service.call('PUT', SHOP);
    expect(await service.call('GET', `${SHOP}/explain?${query}`)).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_FAILED', errors: [{ path }] },
    });
  });

  test('of a pool that does not exist is 404', async () => {
    expect(await service.call('GET', '/v1/pools/none/explain')).toMatchObject({ body: { code: 'POOL_NOT_FOUND' } });
  });
});

test('the API document has the rules, the evidence and the explanation', async () => {
  const { body } = await service.call<{ paths: Record<string, Record<string, object>> }>('GET', '/openapi.json');
  const text = (path: string, method: string) => JSON.stringify(body.paths[path]?.[method]);
  for (const field of ['policy', 'candidates', 'probe', 'filters', 'health', 'bans', 'session']) {
    expect(text('/v1/pools/{pool}', 'put')).toContain(`"${field}":`);
  }
  expect(text('/v1/pools/{pool}/members/{id}', 'get')).toContain('"evidence":');
  const explain = text('/v1/pools/{pool}/explain', 'get');
  for (const word of ['"labels"', '"target"', '"exclude"', '"atCapacity":', '"nextBanEndsAt":']) {
    expect(explain).toContain(word);
  }
});

test('a pools file may give a policy, which holds for the lists that it names', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'evenhand-rules-'));
  const file = join(directory, 'pools.yaml');
  await writeFile(join(directory, 'list.txt'), '10.0.0.1:8080\n192.0.2.1:8080\nproxy.example:8080\n');
  const pools = (deny: string) => `
pools:
  shop:
    policy: { deny: [${deny}], hostnames: forbid }
    filters: [[country]]
    members: { sources: [{ file: list.txt }] }
`;
  await writeFile(file, pools('private'));
  const other = await RunningService.start({ REDIS_URL: redisServer.url, POOLS_FILE: file });
  await other.stop();
  expect((await service.call('GET', SHOP)).body).toMatchObject({ members: { total: 3, eligible: 1, withdrawn: 2 } });
  expect(await poolProblems(redis)).toEqual([]);
  await writeFile(file, pools('private, 10.0.0.1/8'));
  const { output, code } = await RunningService.startInVain({ REDIS_URL: redisServer.url, POOLS_FILE: file });
  expect(code).not.toBe(0);
  expect(output).toMatch(/pools\.yaml:4: pools\.shop\.policy\.deny\.1: /);
  await rm(directory, { recursive: true });
});

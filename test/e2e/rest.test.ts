import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createConnection } from 'node:net';
import type { Redis } from 'ioredis';
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

/** A pool `shop` with these members. */
async function giveShop(...ids: string[]): Promise<void> {
  await service.call('PUT', SHOP);
  await service.call('POST', `${SHOP}/members`, { members: ids.map((id) => ({ id })) });
}

describe('pools', () => {
  test('are created with 201, changed with 200, and keep what a change does not name', async () => {
    const created = await service.call('PUT', SHOP, { restore: 'keep', capacity: 4 });
    expect(created.status).toBe(201);
    expect(created.body).toEqual({
      name: 'shop',
      strategy: 'least-assigned',
      restore: 'keep',
      initialCount: 'level',
      capacity: 4,
      limit: null,
      lease: { ttlMs: 60_000, maxTtlMs: 3_600_000 },
      candidates: 'trust',
      policy: null,
      health: null,
      bans: { cooldownMs: 600_000 },
      probe: null,
      filters: [],
      session: { ttlMs: 600_000 },
      members: { total: 0, eligible: 0, withdrawn: 0 },
      assigned: 0,
      inFlight: 0,
      waiters: 0,
      probes: { waiting: 0, running: 0 },
    });
    const changed = await service.call('PUT', SHOP, { capacity: null, lease: { ttlMs: 5_000 } });
    expect(changed.status).toBe(200);
    expect(changed.body).toMatchObject({
      restore: 'keep',
      capacity: null,
      lease: { ttlMs: 5_000, maxTtlMs: 3_600_000 },
    });
    expect((await service.call('GET', SHOP)).body).toEqual(changed.body);
  });

  test('are listed in pages', async () => {
    for (const name of ['a', 'b', 'c']) await service.call('PUT', `/v1/pools/${name}`);
    const first = await service.call<{ pools: { name: string }[]; nextCursor: string }>('GET', '/v1/pools?limit=2');
    expect(first.body.pools.map(({ name }) => name)).toEqual(['a', 'b']);
    const rest = await service.call('GET', `/v1/pools?limit=2&cursor=${first.body.nextCursor}`);
    expect(rest.body).toMatchObject({ pools: [{ name: 'c' }], nextCursor: null });
  });

  test('are deleted with 204, after which nothing of them is left', async () => {
    await giveShop('a');
    expect(await service.call('DELETE', SHOP)).toMatchObject({ status: 204, body: null });
    expect(await redis.keys('*shop*')).toEqual([]);
    expect(await service.call('DELETE', SHOP)).toMatchObject({
      status: 404,
      body: { code: 'POOL_NOT_FOUND', pool: 'shop' },
    });
  });

  test('that name a strategy which is not registered are refused with those that are', async () => {
    expect(await service.call('PUT', SHOP, { strategy: 'nonsense' })).toMatchObject({
      status: 422,
      body: { code: 'STRATEGY_UNKNOWN', strategy: 'nonsense', known: expect.arrayContaining(['least-assigned']) },
    });
    expect(await storedKeys(redis)).toEqual([]);
  });
});

describe('members', () => {
  test('are imported from a list as people have it', async () => {
    await service.call('PUT', SHOP);
    const list =
      '# a list\n192.0.2.1:8080 DE\nsocks5://user:s3cret@192.0.2.2:1080\n\nno proxy at all\n192.0.2.1:8080\n';
    const report = await service.text(`${SHOP}/members?defaultScheme=https`, list);
    expect(report).toMatchObject({ status: 200, body: { added: 2, duplicates: 1, rejectedTotal: 1, total: 2 } });
    expect(report.body['rejected']).toEqual([{ line: 5, reason: expect.any(String) }]);
    const { body } = await service.call<{ members: { id: string }[] }>('GET', `${SHOP}/members`);
    expect(body.members.map(({ id }) => id)).toEqual([
      'https://192.0.2.1:8080',
      expect.stringMatching(/^socks5:\/\/user@192\.0\.2\.2:1080#[0-9a-f]{8}$/),
    ]);
    expect(JSON.stringify(body)).not.toContain('s3cret');
    const batch = await service.call('POST', `${SHOP}/selections/batch`, { count: 2 });
    expect(JSON.stringify(batch.body)).toContain('socks5://user:s3cret@192.0.2.2:1080');
  });

  test.each([
    ['application/x-ndjson', '{"ip": "192.0.2.1", "port": 8080}\n'],
    ['text/csv', 'ip;port\n192.0.2.1;8080\n'],
    ['application/json', '[{"host": "192.0.2.1", "port": "8080", "country": "DE"}]'],
    ['application/json; charset=utf-8', '{"members": [{"value": "http://192.0.2.1:8080"}]}'],
  ])('are imported as %s', async (type, list) => {
    await service.call('PUT', SHOP);
    const report = await service.call('POST', `${SHOP}/members`, list, { 'content-type': type });
    expect(report).toMatchObject({ status: 200, body: { added: 1 } });
  });

  test('are only looked at with dryRun', async () => {
    await giveShop('a');
    const report = await service.text(`${SHOP}/members?dryRun=true&mode=replace`, '192.0.2.1:8080');
    expect(report.body).toMatchObject({ added: 1, removed: 1, total: 1 });
    expect((await service.call('GET', SHOP)).body).toMatchObject({ members: { total: 1 } });
  });

  test('are shown, changed and removed by their id, percent-encoded', async () => {
    const id = 'http://user@[2001:db8::1]:8080#1234abcd/%?é 中';
    await giveShop(id, 'other');
    const path = `${SHOP}/members/${encodeURIComponent(id)}`;
    expect((await service.call('GET', path)).body).toMatchObject({ id, state: 'eligible', assigned: 0 });
    const patched = await service.call('PATCH', path, { state: 'disabled', labels: { country: 'DE' }, weight: 2 });
    expect(patched.body).toMatchObject({
      id,
      state: 'withdrawn',
      reason: 'disabled',
      labels: { country: 'DE' },
      weight: 2,
    });
    expect((await service.call('GET', `${SHOP}/members?state=withdrawn`)).body).toMatchObject({ members: [{ id }] });
    expect((await service.call('DELETE', path)).status).toBe(204);
    expect(await service.call('GET', path)).toMatchObject({
      status: 404,
      body: { code: 'MEMBER_NOT_FOUND', memberId: id },
    });
    expect((await service.call('DELETE', `${path}?forget=true`)).status).toBe(204);
    expect((await service.call('DELETE', `${path}?forget=true`)).status).toBe(404);
  });

  test('may have ids of 512 characters of three bytes each, in paths and in cursors', async () => {
    const ids = ['中'.repeat(512), '文'.repeat(512)];
    await giveShop(...ids);
    for (const id of ids) {
      expect((await service.call('GET', `${SHOP}/members/${encodeURIComponent(id)}`)).body).toMatchObject({ id });
    }
    const first = await service.call<{ nextCursor: string }>('GET', `${SHOP}/members?limit=1`);
    const second = await service.call('GET', `${SHOP}/members?limit=1&cursor=${first.body.nextCursor}`);
    expect(second.body).toMatchObject({ members: [{ id: ids[1] }], nextCursor: null });
  });
});

describe('selections', () => {
  test('answer with the member, its count and no lease; the body may be absent', async () => {
    await giveShop('a', 'b');
    const path = `${SHOP}/selections`;
    expect(await service.call('POST', path)).toMatchObject({
      status: 200,
      body: {
        selection: { member: { id: 'a', value: 'a', labels: {} }, assigned: 1, lease: null },
        reason: null,
        retryAfterMs: null,
      },
    });
    const request = { ttlMs: 5_000, owner: 'crawler', requestId: 'r-1' };
    expect((await service.call('POST', path, request)).body).toMatchObject({ selection: { member: { id: 'b' } } });
    const batch = await service.call<{ selections: { member: { id: string } }[] }>('POST', `${path}/batch`, {
      count: 3,
    });
    expect(batch.body.selections.map(({ member }) => member.id)).toEqual(['a', 'b', 'a']);
  });

  test('answer null, and why, with nothing to hand out', async () => {
    await giveShop();
    const path = `${SHOP}/selections`;
    const nothing = { selection: null, reason: 'EMPTY_POOL', retryAfterMs: null };
    expect(await service.call('POST', path, {})).toMatchObject({ status: 200, body: nothing });
    expect((await service.call('POST', `${path}/batch`, { count: 2 })).body).toMatchObject({
      selections: [],
      reason: 'EMPTY_POOL',
    });
  });
});

test.each([
  ['POST', 'x/complete'],
  ['POST', 'x/abandon'],
  ['POST', 'x/extend'],
  ['POST', 'extend'],
  ['GET', ''],
  ['GET', 'x'],
  ['DELETE', 'x'],
])('lease routes answer that the strategy has none: %s leases/%s', async (method, path) => {
  await giveShop();
  expect(await service.call(method, `${SHOP}/leases/${path}`.replace(/\/$/, ''))).toMatchObject({
    status: 409,
    body: { code: 'NO_LEASE_LIFECYCLE', strategy: 'least-assigned' },
  });
  expect(await service.call(method, `/v1/pools/none/leases/${path}`.replace(/\/$/, ''))).toMatchObject({ status: 404 });
});

describe('the service', () => {
  test('is live and ready, and says where to read on', async () => {
    expect(await service.call('GET', '/health/live')).toMatchObject({ status: 200, body: { status: 'ok' } });
    expect(await service.call('GET', '/health/ready')).toMatchObject({ status: 200, body: { status: 'ok' } });
    expect((await service.call('GET', '/')).body).toMatchObject({ name: 'evenhand', docs: '/docs' });
  });

  test('documents every route, with schemas and examples, and no reference that leads nowhere', async () => {
    const { body } = await service.call<{ paths: Record<string, object>; components: { schemas: object } }>(
      'GET',
      '/openapi.json',
    );
    expect(Object.keys(body.paths).sort()).toEqual([
      '/health/live',
      '/health/ready',
      '/v1/pools',
      '/v1/pools/{pool}',
      '/v1/pools/{pool}/explain',
      '/v1/pools/{pool}/leases',
      '/v1/pools/{pool}/leases/extend',
      '/v1/pools/{pool}/leases/{lease}',
      '/v1/pools/{pool}/leases/{lease}/abandon',
      '/v1/pools/{pool}/leases/{lease}/complete',
      '/v1/pools/{pool}/leases/{lease}/extend',
      '/v1/pools/{pool}/members',
      '/v1/pools/{pool}/members/{id}',
      '/v1/pools/{pool}/members/{id}/outcomes',
      '/v1/pools/{pool}/outcomes',
      '/v1/pools/{pool}/probes',
      '/v1/pools/{pool}/selections',
      '/v1/pools/{pool}/selections/batch',
      '/v1/queues',
      '/v1/queues/{queue}',
      '/v1/queues/{queue}/jobs/{job}',
      '/v1/queues/{queue}/jobs/{job}/cancel',
      '/v1/queues/{queue}/pause',
      '/v1/queues/{queue}/requests',
      '/v1/queues/{queue}/requests/{request}',
      '/v1/queues/{queue}/requests/{request}/cancel',
      '/v1/queues/{queue}/requests/{request}/jobs',
      '/v1/queues/{queue}/resume',
    ]);
    const text = JSON.stringify(body);
    expect(text).toContain('"example":"http://192.0.2.7:8080"');
    for (const [, name = ''] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      expect(Object.keys(body.components.schemas)).toContain(name);
    }
  });

  test('serves the documentation page with what it needs', async () => {
    const page = await (await fetch(`${service.url}/docs`)).text();
    expect(page).toContain('Evenhand API');
    for (const [, file = ''] of page.matchAll(/(?:src|href)="\.\/(docs\/[^"]+)"/g)) {
      const response = await fetch(`${service.url}/${file}`);
      expect(response.status).toBe(200);
      await response.arrayBuffer();
    }
  });

  test('keeps web pages of others out, by the Origin and by the Host', async () => {
    await giveShop('a');
    const path = `${SHOP}/selections`;
    const foreign = await service.call('POST', path, undefined, { origin: 'https://evil.example' });
    expect(foreign).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
    expect((await service.call('POST', path, undefined, { origin: 'null' })).status).toBe(403);
    expect((await service.call('POST', path, undefined, { origin: service.url })).status).toBe(200);
    expect(
      await rawStatus(service.url, 'GET /v1/pools HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n'),
    ).toBe(403);
    expect((await service.call('GET', SHOP)).body).toMatchObject({ assigned: 1 });
  });

  test('sends what browsers need to be careful with it', async () => {
    for (const path of ['/', '/docs', '/nowhere', '/v1/pools/%zz']) {
      const response = await fetch(`${service.url}${path}`);
      await response.arrayBuffer();
      const { headers } = response;
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('content-security-policy')).toMatch(/default-src 'self'/);
      expect(headers.get('cache-control')).toBe('no-store');
    }
  });
});

/** The status that a server answers a hand-made request with. */
function rawStatus(url: string, request: string): Promise<number> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = createConnection(Number(port), hostname, () => socket.write(request));
    socket.once('data', (data) => {
      resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(data.toString())?.[1]));
      socket.destroy();
    });
    socket.once('error', reject);
  });
}

import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { LeaseView } from '../../src/selection/leases/lease.types.js';
import type { Lease, Selection, SelectionRequest, SelectionResult } from '../../src/selection/selection.types.js';
import { type RedisServer, startRedis } from '../support/redis.server.js';
import { RunningService } from '../support/service.js';
import { waitUntil } from '../support/wait.until.js';

let redisServer: RedisServer;
let redis: Redis;
let service: RunningService;

const SHOP = '/v1/pools/shop';
const FORGED = `${'A'.repeat(22)}.64a1b2c3d4e5f.YQ`;

beforeAll(async () => {
  redisServer = await startRedis();
  redis = redisServer.client();
  service = await RunningService.start({ REDIS_URL: redisServer.url });
});
afterAll(async () => {
  await service.stop();
  await redisServer.stop();
});
beforeEach(async () => {
  await redis.flushall();
  await service.call('PUT', SHOP, { strategy: 'least-concurrency', capacity: 2 });
  await service.call('POST', `${SHOP}/members`, { members: [{ id: 'a' }] });
});

const select = (request?: SelectionRequest) => service.call<SelectionResult>('POST', `${SHOP}/selections`, request);

async function lend(request?: SelectionRequest): Promise<Lease> {
  const { body } = await select(request);
  if (!body.selection?.lease) throw new Error(`nothing lent: ${JSON.stringify(body)}`);
  return body.selection.lease;
}

const call = (lease: string, how: string, body?: unknown) =>
  service.call('POST', `${SHOP}/leases/${encodeURIComponent(lease)}/${how}`, body);
const force = (lease: string) => service.call('DELETE', `${SHOP}/leases/${lease}`);
const shop = async () => (await service.call<{ inFlight: number; waiters: number }>('GET', SHOP)).body;

/** Puts the time of a lease into the past; nobody has settled it yet. */
async function expire(lease: Lease): Promise<void> {
  const names = await redis.zrange('evenhand:{shop}:leases', '0', '-1');
  const name = names.find((found) => found.startsWith(lease.id.slice(0, 22))) ?? '';
  await redis.zadd('evenhand:{shop}:leases', Date.now() - 1_000, name);
  // Nothing expires before the pool is due.
  await redis.hset('evenhand:{shop}:settings', 'due', Date.now() - 1_000);
}

describe('a lease', () => {
  test('comes with a selection', async () => {
    const { status, body } = await select({ ttlMs: 5_000, owner: 'crawler-17', requestId: 'r' });
    expect(status).toBe(200);
    expect(body).toEqual({
      selection: {
        member: { id: 'a', value: 'a', labels: {} },
        assigned: 1,
        lease: {
          id: expect.stringMatching(/^[A-Za-z0-9._~-]+$/),
          fence: expect.any(Number),
          ttlMs: 5_000,
          expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        },
      },
      reason: null,
      retryAfterMs: null,
    });
    const again = await select({ requestId: 'r', owner: 'crawler-17', ttlMs: 5_000 });
    expect(again.body.selection?.lease?.id).toBe((body.selection as Selection).lease?.id);
    expect((await shop()).inFlight).toBe(1);
  });

  test('takes the body of a completion or none', async () => {
    const bodies = [undefined, {}, { outcome: 'success' }, { outcome: 'failure' }, { outcome: 'banned' }];
    for (const body of bodies) {
      const { id, fence } = await lend();
      expect(await call(id, 'complete', body && { ...body, fence })).toMatchObject({
        status: 200,
        body: { status: 'completed' },
      });
    }
    expect(await shop()).toMatchObject({ inFlight: 0, assigned: bodies.length });
  });

  test('is extended, and not shortened', async () => {
    const { id, fence, expiresAt } = await lend({ ttlMs: 60_000 });
    expect(await call(id, 'extend', { ttlMs: 1_000 })).toMatchObject({
      status: 200,
      body: { ttlMs: 1_000, expiresAt },
    });
    const longer = await call(id, 'extend', { ttlMs: 120_000, fence });
    expect(longer).toMatchObject({ status: 200, body: { ttlMs: 120_000 } });
    expect(String(longer.body['expiresAt']) > expiresAt).toBe(true);
  });

  const ENDINGS: Record<string, (lease: Lease) => Promise<unknown>> = {
    completed: ({ id }) => call(id, 'complete'),
    abandoned: ({ id }) => call(id, 'abandon', { reason: 'not needed' }),
    expired: expire,
    forced: ({ id }) => force(id),
  };
  const again = (status: string) => ({ status: 200, body: { status } });
  const problem = (status: number, code: string, endedAs: string) => ({ status, body: { code, status, endedAs } });
  const ended = (as: string) => problem(409, 'LEASE_ENDED', as);
  const gone = (as: string) => problem(410, 'LEASE_EXPIRED', as);

  test.each([
    ['completed', again('already-completed'), ended('completed'), ended('completed')],
    ['abandoned', ended('abandoned'), again('already-abandoned'), ended('abandoned')],
    ['expired', gone('expired'), gone('expired'), gone('expired')],
    ['forced', gone('forced'), gone('forced'), gone('forced')],
  ])('that is %s answers late calls with how it ended', async (how, completed, abandoned, extended) => {
    const lease = await lend();
    const others = await lend();
    await ENDINGS[how]?.(lease);
    for (const fence of [undefined, lease.fence]) {
      const body = fence === undefined ? {} : { fence };
      expect(await call(lease.id, 'complete', body)).toMatchObject(completed);
      expect(await call(lease.id, 'abandon', body)).toMatchObject(abandoned);
      expect(await call(lease.id, 'extend', body)).toMatchObject(extended);
    }
    const stale = { status: 409, body: { code: 'STALE_FENCE' } };
    for (const way of ['complete', 'abandon', 'extend']) {
      expect(await call(lease.id, way, { fence: lease.fence - 1 })).toMatchObject(stale);
    }
    expect(await service.call('GET', `${SHOP}/leases/${lease.id}`)).toMatchObject({ status: 404 });
    expect((await shop()).inFlight).toBe(1);
    expect(await call(others.id, 'complete')).toMatchObject({ status: 200 });
  });

  test('is ended by force, which is safe to repeat', async () => {
    const { id } = await lend();
    expect(await force(id)).toMatchObject({ status: 204, body: null });
    expect(await force(id)).toMatchObject({ status: 204, body: null });
    expect((await shop()).inFlight).toBe(0);
    const other = await lend();
    await call(other.id, 'complete');
    expect(await force(other.id)).toMatchObject({ status: 409, body: { code: 'LEASE_ENDED', endedAs: 'completed' } });
  });

  test('that nobody knows is not found, whatever its shape', async () => {
    const notFound = { status: 404, body: { code: 'LEASE_NOT_FOUND', pool: 'shop' } };
    for (const id of [FORGED, 'x', '..%2F', 'ä ö', '~'.repeat(3_000)]) {
      for (const how of ['complete', 'abandon', 'extend']) expect(await call(id, how)).toMatchObject(notFound);
      const path = `${SHOP}/leases/${encodeURIComponent(id)}`;
      expect(await service.call('GET', path)).toMatchObject(notFound);
      expect(await service.call('DELETE', path)).toMatchObject(notFound);
    }
  });

  test.each([
    ['complete', { outcome: 'great' }, 'outcome'],
    ['complete', { fence: '7' }, 'fence'],
    ['abandon', { reason: 7 }, 'reason'],
    ['extend', { ttlMs: 999 }, 'ttlMs'],
    ['extend', { ttlMs: 3_600_001 }, 'ttlMs'],
    ['extend', { fence: -1 }, 'fence'],
  ])('refuses to %s with %j, and nothing happens to it', async (how, body, path) => {
    const { id } = await lend();
    const { status, body: problem } = await call(id, how, body);
    expect({ status, ...problem }).toMatchObject({ status: 400, code: 'VALIDATION_FAILED', errors: [{ path }] });
    expect((await shop()).inFlight).toBe(1);
  });
});

describe('leases', () => {
  test('are extended in a batch, each with its own answer, in the order asked', async () => {
    await service.call('PUT', SHOP, { capacity: 5 });
    const [live, completed, forced, expired] = [await lend(), await lend(), await lend(), await lend()];
    await call(completed.id, 'complete');
    await force(forced.id);
    await expire(expired);
    const leases = [FORGED, expired.id, forced.id, completed.id, live.id].map((id) => ({ id, ttlMs: 90_000 }));
    expect(await service.call('POST', `${SHOP}/leases/extend`, { leases })).toMatchObject({
      status: 200,
      body: {
        leases: [
          { id: FORGED, status: 'unknown' },
          { id: expired.id, status: 'expired' },
          { id: forced.id, status: 'expired' },
          { id: completed.id, status: 'ended' },
          { id: live.id, status: 'extended', expiresAt: expect.any(String) },
        ],
      },
    });
    for (const bad of [undefined, {}, { leases: [] }, { leases: Array.from({ length: 1_001 }, () => ({ id: 'x' })) }]) {
      const refused = await service.call('POST', `${SHOP}/leases/extend`, bad);
      expect(refused).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
    }
  });

  test('are listed in pages and shown one by one', async () => {
    await service.call('PUT', SHOP, { capacity: 5 });
    const lent: Lease[] = [];
    for (let n = 0; n < 5; n++) lent.push(await lend({ ttlMs: 10_000 + n, owner: `crawler-${n}` }));
    const seen: LeaseView[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const path: string = `${SHOP}/leases?limit=2${cursor && `&cursor=${encodeURIComponent(cursor)}`}`;
      const { status, body } = await service.call<{ leases: LeaseView[]; nextCursor: string | null }>('GET', path);
      expect(status).toBe(200);
      seen.push(...body.leases);
      cursor = body.nextCursor;
    }
    const views = lent.map(({ id, fence, expiresAt }, n) => ({
      ...{ id, memberId: 'a', owner: `crawler-${n}`, fence, expiresAt },
      acquiredAt: expect.any(String),
    }));
    expect(seen).toEqual(views);
    expect(await service.call('GET', `${SHOP}/leases/${lent[3]?.id ?? ''}`)).toMatchObject({
      status: 200,
      body: views[3],
    });
    const badCursor = await service.call('GET', `${SHOP}/leases?limit=0`);
    expect(badCursor).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
  });

  test('keep their pool, and a requestId is for one request', async () => {
    const { id } = await lend({ requestId: 'r' });
    expect(await service.call('DELETE', SHOP)).toMatchObject({ status: 409, body: { code: 'POOL_BUSY' } });
    const other = await service.call('PUT', SHOP, { strategy: 'least-assigned' });
    expect(other).toMatchObject({ status: 409, body: { code: 'POOL_BUSY' } });
    const reused = { status: 409, body: { code: 'REQUEST_ID_REUSED' } };
    expect(await select({ requestId: 'r', ttlMs: 2_000 })).toMatchObject(reused);
    await call(id, 'complete');
    expect(await select({ requestId: 'r' })).toMatchObject({ ...reused, body: { endedAs: 'completed' } });
    expect(await service.call('DELETE', `${SHOP}?force=true`)).toMatchObject({ status: 204 });
    expect(await call(id, 'complete')).toMatchObject({ status: 404, body: { code: 'POOL_NOT_FOUND' } });
  });

  test('are refused where they would last too long', async () => {
    const { status, body } = await service.call('POST', `${SHOP}/selections`, { ttlMs: 3_600_001 });
    expect({ status, ...body }).toMatchObject({ status: 400, code: 'VALIDATION_FAILED', errors: [{ path: 'ttlMs' }] });
  });
});

describe('a client that waits', () => {
  const waiters = (count: number) =>
    waitUntil(async () => (await shop()).waiters === count, { what: `${count} waiters` });

  beforeEach(() => service.call('PUT', SHOP, { capacity: 1 }));

  test('is answered as soon as there is a member', async () => {
    const held = await lend();
    const waiting = select({ waitMs: 20_000 });
    await waiters(1);
    await call(held.id, 'complete');
    const { status, body } = await waiting;
    expect(status).toBe(200);
    expect(body.selection?.lease).toMatchObject({ ttlMs: 60_000 });
  });

  test('is answered with the reason when its time is over', async () => {
    await lend();
    const { status, body } = await select({ waitMs: 150 });
    expect({ status, ...body }).toMatchObject({ status: 200, selection: null, reason: 'AT_CAPACITY' });
    expect(await shop()).toMatchObject({ waiters: 0, inFlight: 1 });
  });

  test('and hangs up leaves the line, and the next is served', async () => {
    const held = await lend();
    const gone = new AbortController();
    const body = JSON.stringify({ waitMs: 60_000 });
    const request = { method: 'POST', body, headers: { 'content-type': 'application/json' }, signal: gone.signal };
    const hungUp = fetch(`${service.url}${SHOP}/selections`, request).catch(() => 'hung up');
    await waiters(1);
    const next = select({ waitMs: 20_000 });
    await waiters(2);
    gone.abort();
    expect(await hungUp).toBe('hung up');
    await waiters(1);
    await call(held.id, 'complete');
    const { selection } = (await next).body;
    expect(selection?.lease).not.toBeNull();
    expect((await shop()).inFlight).toBe(1);
    expect(await call(selection?.lease?.id ?? '', 'complete')).toMatchObject({ status: 200 });
    expect(await redis.exists('evenhand:{shop}:notes')).toBe(0);
  });

  test.each([{ waitMs: -1 }, { waitMs: 60_001 }, { waitMs: '5' }, { waitMs: 1.5 }])(
    'is refused with %j',
    async (body) => {
      const refused = await service.call('POST', `${SHOP}/selections`, body);
      expect(refused).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED', errors: [{ path: 'waitMs' }] } });
    },
  );

  test('cannot do so for a batch', async () => {
    const refused = await service.call('POST', `${SHOP}/selections/batch`, { count: 2, waitMs: 10 });
    expect(refused).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
    const tooMany = await service.call('POST', `${SHOP}/selections/batch`, { count: 201 });
    expect(tooMany).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED', errors: [{ path: 'count' }] } });
  });

  test('is told when the service shuts down', async () => {
    const own = await RunningService.start({ REDIS_URL: redisServer.url });
    await lend();
    const told = own.call('POST', `${SHOP}/selections`, { waitMs: 60_000 });
    await waiters(1);
    const [ended, { status, body }] = await Promise.all([own.stop(), told]);
    expect({ status, ...body }).toMatchObject({ status: 503, code: 'SHUTTING_DOWN' });
    expect(ended).toBe(0);
    expect((await shop()).waiters).toBe(0);
  });
});

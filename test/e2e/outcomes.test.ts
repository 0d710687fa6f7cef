import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { OutcomeResult } from '../../src/eligibility/health/outcome.types.js';
import type { SelectionResult } from '../../src/selection/selection.types.js';
import { type RedisServer, startRedis } from '../support/redis.server.js';
import { RunningService } from '../support/service.js';
import { waitUntil } from '../support/wait.until.js';

let redisServer: RedisServer;
let redis: Redis;
let service: RunningService;

const SHOP = '/v1/pools/shop';
const HOUR_MS = 3_600_000;
const HEALTH = { failures: 2, cooldownMs: HOUR_MS, jitter: 0, maxEjected: 1 };
const PROXY = 'http://192.0.2.7:8080';
const TARGET = 'example.com';

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
  await service.call('PUT', SHOP, { health: HEALTH, filters: [['country'], ['type', 'country']] });
  const members = [
    { id: PROXY, value: 'http://user:s3cret@192.0.2.7:8080', labels: { country: 'DE' } },
    { id: 'b', labels: { country: 'FR' } },
  ];
  await service.call('POST', `${SHOP}/members`, { members });
});

const memberPath = (id: string) => `${SHOP}/members/${encodeURIComponent(id)}`;
const report = (id: string, body: unknown) => service.call<OutcomeResult>('POST', `${memberPath(id)}/outcomes`, body);
const reportAll = (body: unknown) =>
  service.call<{ outcomes: (OutcomeResult & { id: string })[] }>('POST', `${SHOP}/outcomes`, body);
const select = (body: unknown = {}) => service.call<SelectionResult>('POST', `${SHOP}/selections`, body);
const member = async (id: string) => (await service.call('GET', memberPath(id))).body;

/** The ids that so many selections come to, without repeats. */
async function pickedBy(times: number, body: unknown = {}): Promise<(string | undefined)[]> {
  const ids = new Set<string | undefined>();
  for (let n = 0; n < times; n++) ids.add((await select(body)).body.selection?.member.id);
  return [...ids].sort();
}

function expectIn(time: unknown, ms: number): void {
  const inMs = Date.parse(String(time)) - Date.now();
  expect(inMs).toBeLessThanOrEqual(ms);
  expect(inMs).toBeGreaterThan(ms - 60_000);
}

describe('a single outcome', () => {
  test('is counted, and says when the member began to cool and returns', async () => {
    const counted = { status: 'counted', reason: null, returnsAt: null };
    expect(await report(PROXY, { outcome: 'success', latencyMs: 250, target: TARGET })).toMatchObject({
      ...{ status: 200, body: counted },
    });
    expect((await report(PROXY, { outcome: 'failure' })).body).toEqual(counted);
    const { body } = await report(PROXY, { outcome: 'failure', latencyMs: 0 });
    expect(body).toMatchObject({ status: 'counted', reason: 'cooling' });
    expectIn(body.returnsAt, HOUR_MS);
    expect(await member(PROXY)).toMatchObject({ state: 'withdrawn', reason: 'cooling', returnsAt: body.returnsAt });
    expect(await pickedBy(4)).toEqual(['b']);
  });

  test('of work that began before the cooldown says nothing new', async () => {
    await report('b', { outcome: 'banned' });
    await service.call('PATCH', memberPath('b'), { state: 'eligible' });
    const before = new Date(Date.now() - 5_000).toISOString();
    await report('b', { outcome: 'failure', selectedAt: before });
    const { body } = await report('b', { outcome: 'failure', selectedAt: before });
    expect(body).toEqual({ status: 'counted', reason: null, returnsAt: null });
  });

  test.each<[string, unknown, string]>([
    ['no outcome', {}, 'outcome'],
    ['an outcome that does not exist', { outcome: 'fine' }, 'outcome'],
    ['an empty target', { outcome: 'banned', target: '' }, 'target'],
    ['a target that is too long', { outcome: 'banned', target: 'x'.repeat(254) }, 'target'],
    ['a target with a line feed', { outcome: 'banned', target: 'a\nb' }, 'target'],
    ['a latency below zero', { outcome: 'success', latencyMs: -1 }, 'latencyMs'],
    ['a latency as text', { outcome: 'success', latencyMs: '12' }, 'latencyMs'],
    ['a time that is none', { outcome: 'failure', selectedAt: 'yesterday' }, 'selectedAt'],
    ['a field that does not exist', { outcome: 'success', colour: 'red' }, 'colour'],
  ])('with %s is refused by its field', async (_, body, path) => {
    const answer = await report('b', body);
    expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED', errors: [{ path }] } });
    expect(await redis.exists('evenhand:{shop}:facts')).toBe(0);
  });

  test('without a body, or of what is not there, is refused', async () => {
    expect(await report('b', undefined)).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
    const outcome = { outcome: 'success' };
    expect(await report('nobody', outcome)).toMatchObject({ status: 404, body: { code: 'MEMBER_NOT_FOUND' } });
    const banned = { outcome: 'banned', target: TARGET };
    expect(await report('nobody', banned)).toMatchObject({ status: 404, body: { code: 'MEMBER_NOT_FOUND' } });
    const elsewhere = await service.call('POST', '/v1/pools/none/members/b/outcomes', outcome);
    expect(elsewhere).toMatchObject({ status: 404, body: { code: 'POOL_NOT_FOUND' } });
  });
});

describe('several outcomes', () => {
  test('are counted in their order; one of a member that is not there does not stand in the way', async () => {
    const { status, body } = await reportAll({
      outcomes: [
        { id: PROXY, outcome: 'failure' },
        { id: 'nobody', outcome: 'failure' },
        { id: 'b', outcome: 'banned', target: TARGET },
        { id: PROXY, outcome: 'failure', latencyMs: 10 },
        { id: 'b', outcome: 'success' },
      ],
    });
    expect(status).toBe(200);
    const brief = body.outcomes.map((each) => [each.id, each.status, each.reason, each.returnsAt !== null]);
    expect(brief).toEqual([
      [PROXY, 'counted', null, false],
      ['nobody', 'unknown-member', null, false],
      ['b', 'counted', null, true],
      [PROXY, 'counted', 'cooling', true],
      ['b', 'counted', null, false],
    ]);
    expect(await member(PROXY)).toMatchObject({ reason: 'cooling' });
  });

  const good = { id: 'b', outcome: 'banned' };
  test.each<[string, unknown, string]>([
    ['none', { outcomes: [] }, 'outcomes'],
    ['no list', {}, 'outcomes'],
    ['too many', { outcomes: Array.from({ length: 1_001 }, () => good) }, 'outcomes'],
    ['one without an id', { outcomes: [good, { outcome: 'success' }] }, 'outcomes.1.id'],
    ['one that does not exist', { outcomes: [good, { id: 'b', outcome: 'fine' }] }, 'outcomes.1.outcome'],
    ['a latency that is none', { outcomes: [good, good, { ...good, latencyMs: 0.5 }] }, 'outcomes.2.latencyMs'],
  ])('with %s are refused as a whole, by the field', async (_, body, path) => {
    const answer = await reportAll(body);
    expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED', errors: [{ path }] } });
    expect(await member('b')).toMatchObject({ state: 'eligible' });
  });

  test('of a pool that is not there are refused', async () => {
    const answer = await service.call('POST', '/v1/pools/none/outcomes', { outcomes: [good] });
    expect(answer).toMatchObject({ status: 404, body: { code: 'POOL_NOT_FOUND' } });
  });
});

describe('an outcome that comes with the end of a lease', () => {
  beforeEach(() => service.call('PUT', SHOP, { strategy: 'least-concurrency' }));

  async function lend(body: unknown = {}): Promise<{ id: string; lease: string }> {
    const { selection } = (await select(body)).body;
    return { id: selection?.member.id ?? '', lease: selection?.lease?.id ?? '' };
  }
  const complete = (lease: string, body: unknown) =>
    service.call('POST', `${SHOP}/leases/${encodeURIComponent(lease)}/complete`, body);
  const onProxy = { labels: { country: 'DE' } };

  test('is counted once, however often the lease is completed', async () => {
    const first = await lend(onProxy);
    const failure = { outcome: 'failure', target: TARGET, latencyMs: 1_200 };
    expect(await complete(first.lease, failure)).toMatchObject({ status: 200, body: { status: 'completed' } });
    expect((await complete(first.lease, failure)).body).toEqual({ status: 'already-completed' });
    expect(await member(PROXY)).toMatchObject({ state: 'eligible' });
    const second = await lend(onProxy);
    expect((await complete(second.lease, { outcome: 'failure' })).body).toEqual({ status: 'completed' });
    expect(await member(PROXY)).toMatchObject({ reason: 'cooling', inFlight: 0 });
  });

  test('bans the member for the target that it names, or else for that of the selection', async () => {
    const named = await lend(onProxy);
    await complete(named.lease, { outcome: 'banned', target: TARGET });
    expect(await pickedBy(3, { target: TARGET })).toEqual(['b']);
    const meant = await lend({ target: 'example.net', exclude: ['b'] });
    expect(meant.id).toBe(PROXY);
    await complete(meant.lease, { outcome: 'banned' });
    expect(await pickedBy(3, { target: 'example.net' })).toEqual(['b']);
    expect(await member(PROXY)).toMatchObject({ state: 'eligible' });
  });

  test.each<[unknown, string]>([
    [{ outcome: 'fine' }, 'outcome'],
    [{ outcome: 'success', target: '' }, 'target'],
    [{ outcome: 'success', latencyMs: 1.5 }, 'latencyMs'],
    [{ latencyMs: 86_400_001 }, 'latencyMs'],
    [{ outcome: 'success', selectedAt: '2026-01-01T00:00:00Z' }, 'selectedAt'],
  ])('%j is refused by its field, and the lease lives on', async (body, path) => {
    const { lease } = await lend();
    const answer = await complete(lease, body);
    expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED', errors: [{ path }] } });
    expect((await complete(lease, {})).body).toEqual({ status: 'completed' });
  });

  test('cannot be waited past: a wait goes with labels, and not with exclude, target or session', async () => {
    for (const rest of [{ exclude: ['b'] }, { target: TARGET }, { session: 'cart-9' }]) {
      const refused = { status: 400, body: { code: 'VALIDATION_FAILED', errors: [{ path: 'waitMs' }] } };
      expect(await select({ waitMs: 100, ...rest })).toMatchObject(refused);
    }
    await service.call('PUT', SHOP, { capacity: 1 });
    const { lease } = await lend(onProxy);
    const waiting = select({ waitMs: 20_000, ...onProxy });
    const shop = () => service.call<{ waiters: number }>('GET', SHOP);
    await waitUntil(async () => (await shop()).body.waiters === 1, { what: 'a waiter' });
    await complete(lease, { outcome: 'success' });
    expect((await waiting).body.selection?.member.id).toBe(PROXY);
  });
});

describe.each(['least-assigned', 'least-concurrency'])('a selection under %s', (strategy) => {
  beforeEach(() => service.call('PUT', SHOP, { strategy, bans: { cooldownMs: HOUR_MS } }));

  test('passes over those that are banned for its target, and says when the first ban ends if there are no others', async () => {
    const { body } = await report(PROXY, { outcome: 'banned', target: TARGET });
    expect(body).toMatchObject({ status: 'counted', reason: null });
    expectIn(body.returnsAt, HOUR_MS);
    expect(await pickedBy(4, { target: TARGET })).toEqual(['b']);
    expect(await pickedBy(12, { target: 'example.net' })).toEqual(['b', PROXY]);
    expect(await pickedBy(4)).toEqual(['b', PROXY]);
    await report('b', { outcome: 'banned', target: TARGET });
    const none = (await select({ target: TARGET })).body;
    expect(none).toMatchObject({ selection: null, reason: 'NO_MATCH' });
    expect(none.retryAfterMs).toBeGreaterThan(HOUR_MS - 60_000);
    expect(none.retryAfterMs).toBeLessThanOrEqual(HOUR_MS);
  });

  test('for labels that nobody has says NO_MATCH, and of no time at which that would change', async () => {
    expect((await select({ labels: { country: 'DE' } })).body.selection?.member.id).toBe(PROXY);
    // The end of the lease that has just been made would not change it.
    const nobody = { status: 200, body: { selection: null, reason: 'NO_MATCH', retryAfterMs: null } };
    expect(await select({ labels: { country: 'IT' } })).toMatchObject(nobody);
    expect(await select({ labels: { country: 'DE' }, exclude: [PROXY] })).toMatchObject(nobody);
  });

  test('for labels that no filter names together is refused, and told which there are', async () => {
    for (const labels of [{ type: 'x' }, { country: 'DE', owner: 'me' }]) {
      const { status, body } = await select({ labels });
      expect(status).toBe(422);
      expect(body).toMatchObject({ code: 'FILTER_NOT_DECLARED', declared: [['country'], ['country', 'type']] });
      expect(body).toMatchObject({ detail: expect.stringContaining('["country"], ["country","type"]') });
    }
    await service.call('PUT', SHOP, { filters: [] });
    expect((await select({ labels: { country: 'DE' } })).body).toMatchObject({
      ...{ code: 'FILTER_NOT_DECLARED', declared: [] },
    });
  });
});

test('no value is in an answer to an outcome, nor in the log', async () => {
  const answers = [
    await report(PROXY, { outcome: 'failure' }),
    await reportAll({ outcomes: [{ id: PROXY, outcome: 'banned' }] }),
    await report(PROXY, { outcome: 's3cret' }),
  ];
  expect(JSON.stringify(answers.map(({ body }) => body))).not.toContain('s3cret');
  expect(service.log).not.toContain('s3cret');
});

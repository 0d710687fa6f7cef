import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { SelectionRequest } from '../../src/selection/selection.types.js';
import { LeaseProcess } from '../support/lease.processes.js';
import { type SelectionApp, givePool, importMembers, startSelection } from '../support/selection.app.js';
import { useSelection } from '../support/use.selection.js';
import { waitUntil } from '../support/wait.until.js';

const setup = useSelection();
const POOL = 'shop';
const LONG_MS = 20_000;
const DE = { labels: { country: 'DE' } };
const FR = { labels: { country: 'FR' } };
const IT = { labels: { country: 'IT' } };
const DE_FAST = { labels: { country: 'DE', tier: 'fast' } };
const VIEWS = `evenhand:{${POOL}}:views`;
const LEASES = `evenhand:{${POOL}}:leases`;

let other: SelectionApp;

beforeAll(async () => {
  other = await startSelection(setup.server.url);
});
afterAll(() => other.close());
beforeEach(() =>
  givePool(
    setup.app,
    POOL,
    [
      { id: 'de', labels: { country: 'DE', tier: 'slow' } },
      { id: 'fr', labels: { country: 'FR', tier: 'slow' } },
    ],
    { strategy: 'least-concurrency', capacity: 1, filters: [['country'], ['country', 'tier']] },
  ),
);
afterEach(async () => {
  // Whatever a test did, nobody is left in line, nor any note of those who were.
  expect(await placesInLines()).toEqual([]);
  expect(await setup.redis.exists(`evenhand:{${POOL}}:waiters`, `evenhand:{${POOL}}:notes`)).toBe(0);
});

const placesInLines = () => setup.redis.zrangebylex(VIEWS, '[!', '("');
const waiters = async () => (await setup.app.pools.get(POOL)).waiters;
const standing = (count: number) => waitUntil(async () => (await waiters()) === count, { what: `${count} waiters` });

/** The leases that a test made and has not ended, by their members. */
const held = new Map<string, string>();

async function take(request: SelectionRequest = {}, from = setup.app): Promise<string | null> {
  const { selection } = await from.selection.select(POOL, request);
  if (!selection?.lease) return null;
  held.set(selection.member.id, selection.lease.id);
  return selection.member.id;
}

async function free(...ids: string[]): Promise<void> {
  for (const id of ids) {
    const lease = held.get(id) ?? '';
    held.delete(id);
    await setup.app.selection.complete(POOL, lease);
  }
}

/** One more stands in line, behind those who do already; resolves with the member that it gets in the end. */
async function waitInLine(
  request: SelectionRequest = {},
  from = setup.app,
): Promise<{ served: Promise<string | null> }> {
  const before = await waiters();
  const served = take({ waitMs: LONG_MS, ...request }, from);
  await standing(before + 1);
  return { served };
}

describe('a freed member goes to the oldest waiter that can use it', () => {
  beforeEach(async () => {
    expect([await take(DE), await take(FR)]).toEqual(['de', 'fr']);
  });

  test('which is the one that takes any member, when it came before the one that wants its label', async () => {
    const plain = await waitInLine();
    const german = await waitInLine(DE);
    await free('de');
    expect(await plain.served).toBe('de');
    expect(await waiters()).toBe(1);
    await free('de');
    expect(await german.served).toBe('de');
    await free('de', 'fr');
  });

  test('which is the one that wants its label, when it came first', async () => {
    const german = await waitInLine(DE);
    const plain = await waitInLine();
    await free('de');
    expect(await german.served).toBe('de');
    expect(await waiters()).toBe(1);
    await free('fr');
    expect(await plain.served).toBe('fr');
    await free('de', 'fr');
  });

  test('past older ones that want another label', async () => {
    const french = await waitInLine(FR);
    const german = await waitInLine(DE);
    const plain = await waitInLine();
    await free('de');
    expect(await german.served).toBe('de');
    await free('de');
    expect(await plain.served).toBe('de');
    expect(await waiters()).toBe(1);
    await free('fr');
    expect(await french.served).toBe('fr');
    await free('de', 'fr');
  });

  test('in order of arrival within each of many lines, across two applications', async () => {
    await importMembers(setup.app, POOL, [{ id: 'it', labels: { country: 'IT', tier: 'slow' } }]);
    expect(await take(IT)).toBe('it');
    const order: string[] = [];
    const waits: Promise<unknown>[] = [];
    for (let n = 0; n < 12; n++) {
      const [name, request] = [
        ['plain', {}],
        ['de', DE],
        ['fr', FR],
        ['it', IT],
      ][n % 4] as [string, SelectionRequest];
      const { served } = await waitInLine(request, n % 3 === 0 ? other : setup.app);
      waits.push(served.then((id) => order.push(`${name} ${n}: ${id}`)));
    }
    const next = async (id: string) => {
      const count = order.length;
      await free(id);
      await waitUntil(() => order.length > count, { what: `somebody to get ${id}` });
      return order.at(-1);
    };
    expect([await next('it'), await next('it'), await next('it')]).toEqual(['plain 0: it', 'it 3: it', 'plain 4: it']);
    expect([await next('de'), await next('de')]).toEqual(['de 1: de', 'de 5: de']);
    expect([await next('fr'), await next('fr'), await next('fr')]).toEqual(['fr 2: fr', 'fr 6: fr', 'plain 8: fr']);
    expect([await next('it'), await next('it'), await next('de'), await next('fr')]).toEqual([
      ...['it 7: it', 'it 11: it', 'de 9: de', 'fr 10: fr'],
    ]);
    await Promise.all(waits);
    await free('de', 'fr', 'it');
  });

  test('several that come free at once serve several lines at once', async () => {
    const waits = [await waitInLine(FR), await waitInLine(DE, other), await waitInLine({}, other)];
    await setup.app.pools.put(POOL, { capacity: 2 });
    const [french, german] = await Promise.all(waits.slice(0, 2).map(({ served }) => served));
    expect([french, german]).toEqual(['fr', 'de']);
    await importMembers(setup.app, POOL, [{ id: 'us', labels: { country: 'US' } }]);
    expect(await waits[2]?.served).toBe('us');
    await setup.app.pools.delete(POOL, { force: true });
    held.clear();
  });
});

describe('a newcomer', () => {
  test('takes what no waiter can use, and nothing else', async () => {
    await take(DE);
    const german = await waitInLine(DE, other);
    expect(await take()).toBe('fr');
    await free('de');
    // The member is the waiter's, whether or not that has confirmed it yet.
    expect(await setup.app.selection.select(POOL)).toMatchObject({ selection: null, reason: 'AT_CAPACITY' });
    expect(await setup.app.selection.select(POOL, DE)).toMatchObject({ selection: null, reason: 'AT_CAPACITY' });
    expect(await german.served).toBe('de');
    await free('de', 'fr');
  });

  test('whose own call finds that a lease has expired leaves the member to the waiter', async () => {
    await take(DE);
    const german = await waitInLine(DE, other);
    await letExpire('de');
    expect(await take()).toBe('fr');
    expect(await take()).toBeNull();
    expect(await german.served).toBe('de');
    await free('de', 'fr');
  });

  test('that asks for a label gets a free member of it past those who wait for others', async () => {
    await take(DE);
    const german = await waitInLine(DE);
    expect(await take({ ...FR, waitMs: LONG_MS }, other)).toBe('fr');
    await free('de');
    expect(await german.served).toBe('de');
    await free('de', 'fr');
  });
});

/** Puts the end of a member's lease into the past; whoever looks at the pool next settles it. */
async function letExpire(id: string): Promise<void> {
  const [name = ''] = (await setup.redis.zrange(LEASES, '0', '-1')).filter((lease) => lease.endsWith(`.${id}`));
  held.delete(id);
  await setup.redis
    .multi()
    .zadd(LEASES, Date.now() - 1_000, name)
    .hset(`evenhand:{${POOL}}:settings`, 'due', Date.now() - 1_000)
    .exec();
}

describe('a wait for a label', () => {
  beforeEach(async () => {
    expect([await take(DE), await take(FR)]).toEqual(['de', 'fr']);
  });
  afterEach(() => free('de', 'fr'));

  test('that the caller gives up leaves the line to those behind it', async () => {
    const gone = new AbortController();
    const first = setup.app.selection.select(POOL, { ...DE, waitMs: LONG_MS }, gone.signal);
    await standing(1);
    const second = await waitInLine(DE, other);
    gone.abort();
    expect(await first).toMatchObject({ selection: null });
    await standing(1);
    expect(await placesInLines()).toHaveLength(1);
    await free('de');
    expect(await second.served).toBe('de');
  });

  test('ends with nothing and the reason when its time is over', async () => {
    expect(await setup.app.selection.select(POOL, { ...DE, waitMs: 200 })).toMatchObject({
      ...{ selection: null, reason: 'AT_CAPACITY' },
      retryAfterMs: expect.any(Number),
    });
    expect(await setup.app.selection.select(POOL, { ...DE_FAST, waitMs: 200 })).toMatchObject({
      ...{ selection: null, reason: 'NO_MATCH' },
    });
    expect(await waiters()).toBe(0);
  });

  test('is joined by a repeat with the same requestId, and both get the one lease', async () => {
    const request = { ...DE, waitMs: LONG_MS, requestId: 'r1' };
    const first = setup.app.selection.select(POOL, request);
    await standing(1);
    const repeat = other.selection.select(POOL, request);
    const plain = await waitInLine(DE);
    await expect(setup.app.selection.select(POOL, { ...request, ...FR })).rejects.toMatchObject({
      code: 'REQUEST_ID_REUSED',
    });
    expect(await placesInLines()).toHaveLength(2);
    await free('de');
    const [got, again] = await Promise.all([first, repeat]);
    expect(got.selection?.member.id).toBe('de');
    expect(again.selection?.lease?.id).toBe(got.selection?.lease?.id);
    held.set('de', got.selection?.lease?.id ?? '');
    await free('de');
    expect(await plain.served).toBe('de');
  });

  test('tells a repeat that does not wait why there is nothing yet', async () => {
    const gone = new AbortController();
    const reasons: Record<string, string | null> = {};
    for (const request of [DE, IT]) {
      const waiting = { ...request, requestId: JSON.stringify(request.labels), waitMs: LONG_MS };
      const first = setup.app.selection.select(POOL, waiting, gone.signal);
      await waitUntil(async () => (await placesInLines()).length === Object.keys(reasons).length + 1);
      const { selection, reason } = await other.selection.select(POOL, { ...waiting, waitMs: 0 });
      expect(selection).toBeNull();
      reasons[request.labels.country] = reason;
      void first.catch(() => undefined);
    }
    gone.abort();
    expect(reasons).toEqual({ DE: 'AT_CAPACITY', IT: 'NO_MATCH' });
    await standing(0);
  });

  test('by a process that has died is passed over', async () => {
    const holder = await LeaseProcess.start(setup.server.url);
    void holder.select(POOL, { ...DE, waitMs: LONG_MS }).catch(() => undefined);
    await standing(1);
    const next = await waitInLine(DE);
    await holder.kill();
    await free('de');
    expect(await next.served).toBe('de');
    await standing(0);
  });

  test('ends when a member with the label comes, or gets it', async () => {
    const fast = await waitInLine(DE_FAST);
    await importMembers(setup.app, POOL, [{ id: 'new', labels: { country: 'DE', tier: 'fast' } }]);
    expect(await fast.served).toBe('new');
    const italian = await waitInLine(IT);
    await importMembers(setup.app, POOL, [{ id: 'it' }]);
    await setup.app.pools.patchMember(POOL, 'it', { labels: { country: 'IT' } });
    expect(await italian.served).toBe('it');
    await free('new', 'it');
  });

  test('goes on through a change of the filters', async () => {
    const german = await waitInLine(DE);
    await setup.app.pools.put(POOL, { filters: [['country'], ['tier']] });
    await free('de');
    expect(await german.served).toBe('de');
  });
});

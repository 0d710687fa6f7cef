import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Selection } from '../../src/selection/selection.types.js';
import { givePool, startSelection } from '../support/selection.app.js';
import { useSelection } from '../support/use.selection.js';

const CALLERS = 200;
const IDS = Array.from({ length: 30 }, (_, n) => `member-${String(n).padStart(2, '0')}`);

const setup = useSelection();

async function selectTogether(pool: string, callers = CALLERS): Promise<Selection[]> {
  const found = await Promise.all(Array.from({ length: callers }, () => setup.app.selection.select(pool)));
  return found.map(({ selection }) => selection as Selection);
}

async function acquireTogether(callers: number): Promise<string[]> {
  return (await selectTogether('shop', callers)).map(({ lease }) => lease?.id ?? '');
}

/** Scripts that ran while something was done. */
async function scriptsOf(work: () => Promise<unknown>): Promise<number> {
  await setup.redis.config('RESETSTAT');
  await work();
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(await setup.redis.info('commandstats'))?.[1] ?? 0);
}

describe('selections that arrive together', () => {
  test('are what as many one after the other would be, in the order in which they came', async () => {
    await givePool(setup.app, 'shop', IDS);
    const ids = (await selectTogether('shop')).map(({ member }) => member.id);
    expect(ids).toEqual(Array.from({ length: CALLERS }, (_, n) => IDS[n % IDS.length]));
  });

  test.each(['least-assigned', 'least-concurrency'])('travel in far fewer scripts under %s', async (strategy) => {
    await givePool(setup.app, 'shop', IDS, { strategy });
    await setup.app.selection.select('shop');
    expect(await scriptsOf(() => selectTogether('shop'))).toBeLessThan(CALLERS / 8);
  });

  test('of different pools do not mix', async () => {
    await givePool(setup.app, 'shop', ['a']);
    await givePool(setup.app, 'mall', ['b']);
    const found = await Promise.all(
      Array.from({ length: 50 }, (_, n) => setup.app.selection.select(n % 2 === 0 ? 'shop' : 'mall')),
    );
    found.forEach(({ selection }, n) => {
      expect(selection?.member.id).toBe(n % 2 === 0 ? 'a' : 'b');
    });
  });

  test('get no more leases than there is room for; the others are told', async () => {
    await givePool(setup.app, 'shop', IDS, { strategy: 'least-concurrency', capacity: 2 });
    const found = await Promise.all(Array.from({ length: CALLERS }, () => setup.app.selection.select('shop')));
    expect(found.filter(({ selection }) => selection !== null)).toHaveLength(IDS.length * 2);
    expect(new Set(found.filter(({ selection }) => !selection).map(({ reason }) => reason))).toEqual(
      new Set(['AT_CAPACITY']),
    );
  });

  test('all find that the strategy was changed, and are all answered by the new one', async () => {
    await givePool(setup.app, 'shop', IDS);
    await setup.app.selection.select('shop');
    const other = await startSelection(setup.server.url);
    await other.pools.put('shop', { strategy: 'least-concurrency' });
    await other.close();
    for (const { lease } of await selectTogether('shop')) expect(lease).not.toBeNull();
  });

  test('all find that the pool was deleted', async () => {
    await givePool(setup.app, 'shop', IDS);
    await setup.app.selection.select('shop');
    const other = await startSelection(setup.server.url);
    await other.pools.delete('shop');
    await other.close();
    const found = await Promise.allSettled(Array.from({ length: 50 }, () => setup.app.selection.select('shop')));
    for (const result of found) expect(result).toMatchObject({ reason: { code: 'POOL_NOT_FOUND' } });
  });

  test('whose time to live is too long fail alone', async () => {
    await givePool(setup.app, 'shop', IDS, { strategy: 'least-concurrency', lease: { maxTtlMs: 120_000 } });
    const found = await Promise.allSettled(
      Array.from({ length: 60 }, (_, n) =>
        setup.app.selection.select('shop', { ttlMs: n % 3 === 0 ? 600_000 : 60_000 }),
      ),
    );
    found.forEach((result, n) => {
      if (n % 3 === 0) expect(result).toMatchObject({ reason: { code: 'VALIDATION_FAILED' } });
      else expect(result.status).toBe('fulfilled');
    });
  });
});

describe('leases that end or are extended together', () => {
  beforeEach(async () => {
    await givePool(setup.app, 'shop', IDS, { strategy: 'least-concurrency', lease: { maxTtlMs: 120_000 } });
  });

  test('travel in far fewer scripts, and each ends once', async () => {
    const ids = await acquireTogether(CALLERS);
    const scripts = await scriptsOf(() => Promise.all(ids.map((id) => setup.app.selection.complete('shop', id))));
    expect(scripts).toBeLessThan(CALLERS / 8);
    expect((await setup.app.pools.get('shop')).inFlight).toBe(0);
    for (const { inFlight } of (await setup.app.pools.listMembers('shop')).members) expect(inFlight).toBe(0);
  });

  test('with one that is unknown, one that was ended otherwise, and one that is named twice, each get their own answer', async () => {
    const ids = await acquireTogether(40);
    const [abandoned = '', twice = ''] = ids;
    await setup.app.selection.abandon('shop', abandoned);
    const asked = [...ids, twice, 'AAAAAAAAAAAAAAAAAAAAAA.1.YQ'];
    const found = await Promise.allSettled(asked.map((id) => setup.app.selection.complete('shop', id)));
    expect(found[0]).toMatchObject({ reason: { code: 'LEASE_ENDED', endedAs: 'abandoned' } });
    for (let n = 1; n < 40; n++) expect(found[n]).toMatchObject({ value: { status: 'completed' } });
    expect(found[40]).toMatchObject({ value: { status: 'already-completed' } });
    expect(found[41]).toMatchObject({ reason: { code: 'LEASE_NOT_FOUND' } });
    expect((await setup.app.pools.get('shop')).inFlight).toBe(0);
  });

  test('with some whose extension is too long: only those fail', async () => {
    const ids = await acquireTogether(60);
    const found = await Promise.allSettled(
      ids.map((id, n) => setup.app.selection.extend('shop', id, { ttlMs: n === 7 ? 600_000 : 90_000 })),
    );
    found.forEach((result, n) => {
      if (n === 7) expect(result).toMatchObject({ reason: { code: 'VALIDATION_FAILED' } });
      else expect(result).toMatchObject({ value: { ttlMs: 90_000 } });
    });
  });

  test('with a stale fence among them: only that one is told', async () => {
    const ids = await acquireTogether(60);
    const scripts = await scriptsOf(async () => {
      const found = await Promise.allSettled(
        ids.map((id, n) => setup.app.selection.extend('shop', id, n === 7 ? { fence: 1 } : {})),
      );
      found.forEach((result, n) => {
        if (n === 7) expect(result).toMatchObject({ reason: { code: 'STALE_FENCE' } });
        else expect(result.status).toBe('fulfilled');
      });
    });
    expect(scripts).toBeLessThan(60 / 4);
  });
});

describe('a pool of few members', () => {
  test.each(['members', 'least-concurrency:counts'])('is looked up by hash, not searched: %s', async (key) => {
    await givePool(setup.app, 'shop', ['a', 'b'], { strategy: 'least-concurrency' });
    expect(await setup.redis.object('ENCODING', `evenhand:{shop}:${key}`)).toBe('hashtable');
  });

  test('leaves no key of an index behind that it has left', async () => {
    await givePool(setup.app, 'shop', ['a', 'b'], { strategy: 'least-concurrency' });
    await setup.app.pools.put('shop', { strategy: 'least-assigned' });
    expect(await setup.redis.keys('evenhand:{shop}:least-concurrency:*')).toEqual([]);
  });
});

import { describe, expect, test } from '@jest/globals';
import { KeyNames } from '../../src/selection/key.names.js';
import type { SelectionRequest } from '../../src/selection/selection.types.js';
import { poolProblems } from '../support/pool.invariants.js';
import { importMembers } from '../support/selection.app.js';
import { useSelection } from '../support/use.selection.js';
import { waitUntil } from '../support/wait.until.js';

/** What picks for a target make of bans that have ended since the target's cursor passed over them: see lua/include/narrow.lua. */
const setup = useSelection();
const POOL = 'shop';
const TARGET = 'one.example';
const names = new KeyNames('evenhand');
const keys = names.pool(POOL);
const [bans] = names.target(POOL, TARGET);
const STRATEGIES = ['least-assigned', 'least-concurrency'];

async function ban(ids: readonly string[]): Promise<void> {
  await setup.redis.zadd(bans, ...ids.flatMap((id) => [Date.now() + 3_600_000, id]));
  await setup.redis.pexpire(bans, 7_200_000);
}

const endBans = (ids: readonly string[]) => setup.redis.zadd(bans, 'XX', ...ids.flatMap((id, n) => [n + 1, id]));

/** The member that is selected, which is given back at once where it was lent. */
async function pick(request: SelectionRequest = {}): Promise<string | null> {
  const { selection } = await setup.app.selection.select(POOL, request);
  if (selection?.lease) await setup.app.selection.complete(POOL, selection.lease.id);
  return selection?.member.id ?? null;
}

async function picks(times: number, request: SelectionRequest = {}): Promise<(string | null)[]> {
  const ids = [];
  for (let n = 0; n < times; n++) ids.push(await pick(request));
  return ids;
}

describe('a member whose ban has ended below the level of a view', () => {
  test('is not raised to it while it is in another view', async () => {
    await setup.app.pools.put(POOL, { filters: [['country']], restore: 'level' });
    const countries = { a: 'DE', b: 'DE', f: 'FR' };
    await importMembers(
      setup.app,
      POOL,
      Object.entries(countries).map(([id, country]) => ({ id, labels: { country } })),
    );
    const inGermany = { labels: { country: 'DE' } };
    await picks(21, inGermany);
    await ban(['b', 'f']);
    // The cursor of the view stands at b, which has been selected ten times, and its level is where a is.
    expect(await pick({ ...inGermany, target: TARGET })).toBe('a');
    await endBans(['f']);
    expect(await pick({ ...inGermany, target: TARGET })).toBe('a');
    expect(await picks(10)).toEqual(Array.from({ length: 10 }, () => 'f'));
  });

  test('is not raised to it by a request that excludes it', async () => {
    await setup.app.pools.put(POOL, { restore: 'level' });
    await importMembers(setup.app, POOL, ['a', 'b', 'c']);
    await ban(['b', 'c']);
    expect(await picks(2, { exclude: ['a', 'b'] })).toEqual(['c', 'c']);
    expect(await picks(20, { target: TARGET })).toEqual(Array.from({ length: 20 }, () => 'a'));
    await endBans(['b']);
    expect(await pick({ target: TARGET, exclude: ['b'] })).toBe('a');
    expect(await picks(2)).toEqual(['b', 'b']);
  });
});

describe('a member that was handed out before the others', () => {
  /** Each begins at its count, and has a label that all but one share. */
  async function fill(counts: Record<string, number>): Promise<void> {
    for (const [id, initialCount] of Object.entries(counts)) {
      await setup.app.pools.put(POOL, { initialCount, restore: 'keep', filters: [['country']] });
      await importMembers(setup.app, POOL, [{ id, labels: { country: id === 'x' ? 'FR' : 'DE' } }]);
    }
  }
  const target = TARGET;

  test('is next again while it still stands before them', async () => {
    await fill({ a: 0, b: 3, z: 6 });
    await ban(['a', 'b']);
    expect(await pick({ target })).toBe('z');
    await endBans(['a']);
    expect(await picks(9, { target })).toEqual([...Array<string>(8).fill('a'), 'z']);
  });

  test('is found by those who look for labels, too', async () => {
    await fill({ a: 0, b: 0, x: 2, c: 5, z: 6 });
    await ban(['a', 'b', 'c']);
    expect(await pick({ target, labels: { country: 'DE' } })).toBe('z');
    expect(await pick({ target })).toBe('x');
    await endBans(['a']);
    expect(await pick({ target })).toBe('a');
    expect(await picks(2, { target, labels: { country: 'DE' } })).toEqual(['a', 'a']);
  });
});

describe.each(STRATEGIES)('under %s', (strategy) => {
  const idsOf = (count: number) => Array.from({ length: count }, (_, n) => `m${String(n).padStart(4, '0')}`);

  // Few are handed out one by one, 60 are too many for that, and 1,100 for one script.
  test.each([2, 60, 1_100])(
    'among %d whose bans have ended the first is found, whichever ended first',
    async (count) => {
      const ids = idsOf(count);
      const { pools } = setup.app;
      await pools.put(POOL, { strategy, initialCount: 0 });
      await importMembers(setup.app, POOL, ids.slice(0, 1));
      await pools.put(POOL, { initialCount: 5 });
      await importMembers(setup.app, POOL, ids.slice(1));
      // Where nobody begins behind others, all that were picked stand in the order of that.
      if (strategy === 'least-concurrency') await picks(count);
      await ban(ids);
      expect(await pick({ target: TARGET })).toBeNull();
      await endBans([...ids].reverse());
      expect(await pick({ target: TARGET })).toBe('m0000');
    },
  );

  test('nobody is told that there is nobody because of many ended bans of members that are away', async () => {
    const ids = idsOf(60);
    await setup.app.pools.put(POOL, { strategy });
    await importMembers(setup.app, POOL, ids);
    await ban(ids);
    expect(await pick({ target: TARGET })).toBeNull();
    await endBans(ids);
    for (const id of ids.slice(0, -1)) await setup.app.pools.patchMember(POOL, id, { state: 'disabled' });
    expect(await setup.app.selection.select(POOL, { target: TARGET })).toMatchObject({
      selection: { member: { id: ids.at(-1) } },
    });
  });
});

test('a member that was handed to a waiter in passing is lent at the load that it has then', async () => {
  const { app, redis } = setup;
  await app.pools.put(POOL, { strategy: 'least-concurrency', limit: 4 });
  await importMembers(app, POOL, ['a', 'p', 'x']);
  const lend = async (request: SelectionRequest) => (await app.selection.select(POOL, request)).selection?.lease?.id;
  // Of the same load p stands behind a.
  expect(await pick({ exclude: ['a', 'x'] })).toBe('p');
  const [first, second] = [await lend({ exclude: ['a', 'p'] }), await lend({ exclude: ['a', 'p'] })];
  await lend({ exclude: ['a', 'p'] });
  await ban(['a', 'p']);
  await lend({ target: TARGET });
  const waiting = app.selection.select(POOL, { waitMs: 10_000 });
  await waitUntil(async () => (await app.pools.get(POOL)).waiters === 1, { what: 'a waiter' });
  await endBans(['a']);
  const past = Date.now() - 10;
  const expired = (await redis.zrange(keys.leases, '0', '-1')).filter((name) =>
    [first, second].some((lease) => lease?.slice(0, 22) === name.slice(0, 22)),
  );
  expect(expired).toHaveLength(2);
  const [, , result] = await Promise.all([
    redis.zadd(keys.leases, ...expired.flatMap((name) => [past, name])),
    redis.hset(keys.settings, 'due', past),
    app.selection.select(POOL, { target: TARGET }),
  ]);
  expect(result.selection?.member.id).toBe('a');
  expect((await waiting).selection?.member.id).toBe('a');
  const { members } = await app.pools.listMembers(POOL);
  expect(members.map(({ id, inFlight }) => [id, inFlight])).toEqual([
    ['a', 2],
    ['p', 0],
    ['x', 2],
  ]);
  expect(await poolProblems(redis)).toEqual([]);
});

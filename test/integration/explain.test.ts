import { beforeEach, expect, test } from '@jest/globals';
import { ExplainService } from '../../src/eligibility/explain/explain.service.js';
import { KeyNames } from '../../src/selection/key.names.js';
import { importMembers } from '../support/selection.app.js';
import { useSelection } from '../support/use.selection.js';

const setup = useSelection();
const explain = (request?: Parameters<ExplainService['explain']>[1]) =>
  setup.app.context.get(ExplainService).explain('shop', request);
const NONE = { candidate: 0, disabled: 0, cooling: 0, unhealthy: 0, policy: 0 };
const DE = { country: 'DE' };
const FR = { country: 'FR' };

async function give(...members: Parameters<typeof importMembers>[2]): Promise<void> {
  await importMembers(setup.app, 'shop', members);
}

/** Bans members at a target, as lua/pool/ban.lua would; for so long, in ms. */
async function ban(target: string, bans: Record<string, number>): Promise<void> {
  const [key] = new KeyNames('evenhand').target('shop', target);
  for (const [id, ms] of Object.entries(bans)) await setup.redis.zadd(key, Date.now() + ms, id);
}

beforeEach(() => setup.app.pools.put('shop', { policy: { labels: { forbidden: { banned: true } } } }));

test('an empty pool has nobody, and one that does not exist is refused', async () => {
  expect(await explain()).toEqual({
    members: 0,
    eligible: 0,
    withdrawn: NONE,
    match: { members: 0, eligible: 0, withdrawn: NONE, excluded: 0, banned: 0, atCapacity: 0, selectable: 0 },
    atLimit: false,
    nextReturnAt: null,
    nextBanEndsAt: null,
    complete: true,
  });
  await expect(setup.app.context.get(ExplainService).explain('none')).rejects.toMatchObject({
    code: 'POOL_NOT_FOUND',
  });
});

test('members are counted by the reason that counts, and the first return is told', async () => {
  await give('a', 'b', 'c', { id: 'd', labels: { banned: 'yes' } }, 'e');
  await setup.app.pools.patchMember('shop', 'a', { state: 'disabled' });
  await setup.app.pools.patchMember('shop', 'a', { cooldownMs: 1_000 });
  await setup.app.pools.patchMember('shop', 'b', { cooldownMs: 600_000 });
  const { returnsAt } = await setup.app.pools.patchMember('shop', 'c', { cooldownMs: 300_000 });
  expect(await explain()).toMatchObject({
    members: 5,
    eligible: 1,
    withdrawn: { ...NONE, disabled: 1, cooling: 2, policy: 1 },
    match: { members: 5, selectable: 1 },
    nextReturnAt: returnsAt,
  });
});

test('labels count by type and value, whether or not the pool has such a filter', async () => {
  await give(
    { id: 'a', labels: DE },
    { id: 'b', labels: { ...DE, banned: 'yes' } },
    { id: 'c', labels: FR },
    { id: 'd', labels: { tier: '1' } },
  );
  const { returnsAt } = await setup.app.pools.patchMember('shop', 'c', { cooldownMs: 600_000 });
  expect(await explain({ labels: DE })).toMatchObject({
    members: 4,
    match: { members: 2, eligible: 1, withdrawn: { ...NONE, policy: 1 }, selectable: 1 },
    nextReturnAt: null,
  });
  expect(await explain({ labels: FR })).toMatchObject({ match: { members: 1, eligible: 0 }, nextReturnAt: returnsAt });
  expect(await explain({ labels: { tier: 1 } })).toMatchObject({ match: { members: 0 } });
  expect(await explain({ labels: { tier: '1' } })).toMatchObject({ match: { members: 1 } });
});

test('members that are banned at the target, or excluded, are not selectable; bans that have ended do not count', async () => {
  await give('a', 'b', 'c', 'd', 'e');
  await setup.app.pools.patchMember('shop', 'e', { state: 'disabled' });
  await ban('example.com', { a: 600_000, b: 300_000, c: -1, e: 100_000 });
  await ban('other.example', { d: 600_000 });
  const found = await explain({ target: 'example.com', exclude: ['d', 'nobody'] });
  expect(found.match).toEqual({
    members: 5,
    eligible: 4,
    withdrawn: { ...NONE, disabled: 1 },
    excluded: 1,
    banned: 2,
    atCapacity: 0,
    selectable: 1,
  });
  const [key] = new KeyNames('evenhand').target('shop', 'example.com');
  expect(Date.parse(found.nextBanEndsAt!)).toBe(Number(await setup.redis.zscore(key, 'b')));
  expect(await explain({ exclude: ['a'] })).toMatchObject({ match: { excluded: 1, banned: 0 }, nextBanEndsAt: null });
});

test('members at their capacity are not selectable, nor is anybody at the limit of the pool', async () => {
  await setup.app.pools.put('shop', { strategy: 'least-concurrency', capacity: 1, limit: 3 });
  await give({ id: 'a', labels: DE }, { id: 'b', labels: DE }, { id: 'c', labels: FR }, { id: 'd', labels: FR });
  for (let n = 0; n < 2; n++) await setup.app.selection.select('shop');
  expect(await explain()).toMatchObject({ match: { eligible: 4, atCapacity: 2, selectable: 2 }, atLimit: false });
  expect(await explain({ labels: DE })).toMatchObject({ match: { eligible: 2, atCapacity: 2, selectable: 0 } });
  await setup.app.selection.select('shop');
  expect(await explain({ labels: FR })).toMatchObject({ match: { atCapacity: 1, selectable: 1 }, atLimit: true });
});

test('a large pool is looked at to its end', async () => {
  await give(...Array.from({ length: 4_500 }, (_, n) => ({ id: `m${n}`, labels: n % 3 ? DE : { banned: 'yes' } })));
  expect(await explain({ labels: DE })).toMatchObject({ match: { members: 3_000, eligible: 3_000 }, complete: true });
  expect(await explain({ labels: { banned: 'yes' } })).toMatchObject({ match: { withdrawn: { policy: 1_500 } } });
});

test.each([
  [{ labels: { a: [] } }, 'labels.a'],
  [{ target: '' }, 'target'],
  [{ target: 'a\nb' }, 'target'],
  [{ exclude: [''] }, 'exclude.0'],
  [{ wrong: 1 }, 'wrong'],
])('a request that is not valid is refused by its field: %j', async (request, path) => {
  await expect(explain(request as never)).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
    problems: [{ path, message: expect.any(String) }],
  });
});

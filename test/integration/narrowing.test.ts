import { beforeEach, describe, expect, test } from '@jest/globals';
import { LeaseService } from '../../src/selection/leases/lease.service.js';
import type { SelectionRequest } from '../../src/selection/selection.types.js';
import { importMembers } from '../support/selection.app.js';
import { useSelection } from '../support/use.selection.js';

const setup = useSelection();
const POOL = 'shop';
const DE = { country: 'DE' };

async function fill(strategy: string, members: Parameters<typeof importMembers>[2], settings = {}): Promise<void> {
  await setup.app.pools.put(POOL, { strategy, filters: [['country'], ['country', 'type']], ...settings });
  await importMembers(setup.app, POOL, members);
}

async function pick(request: SelectionRequest = {}): Promise<string | null> {
  const { selection } = await setup.app.selection.select(POOL, request);
  if (selection?.lease) await setup.app.context.get(LeaseService).complete(POOL, selection.lease.id);
  return selection?.member.id ?? null;
}

async function picks(times: number, request: SelectionRequest = {}): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (let n = 0; n < times; n++) {
    const id = String(await pick(request));
    counts[id] = (counts[id] ?? 0) + 1;
  }
  return counts;
}

/** Bans a member for a target for a minute, as an outcome does. */
async function ban(id: string, target: string, forMs = 60_000): Promise<void> {
  const { KeyNames } = await import('../../src/selection/key.names.js');
  const [bans] = new KeyNames('evenhand').target(POOL, target);
  await setup.redis.zadd(bans, Date.now() + forMs, id);
  await setup.redis.pexpire(bans, 3_600_000);
}

const EUROPE: { id: string; labels: Record<string, string> }[] = [
  { id: 'a', labels: { country: 'DE', type: 'x' } },
  { id: 'b', labels: { country: 'DE', type: 'y' } },
  { id: 'c', labels: { country: 'FR', type: 'x' } },
  { id: 'd', labels: {} },
];

describe.each(['least-assigned', 'least-recently-used', 'random', 'least-concurrency'])('under %s', (strategy) => {
  beforeEach(() => fill(strategy, EUROPE));

  test('labels leave the members that have them, and others are picked no more by it', async () => {
    const counts = await picks(20, { labels: DE });
    expect(Object.keys(counts).sort()).toEqual(['a', 'b']);
    if (strategy !== 'random') expect(counts).toEqual({ a: 10, b: 10 });
    expect(await picks(3, { labels: { country: 'DE', type: 'y' } })).toEqual({ b: 3 });
    expect(await pick({ labels: {} })).not.toBeNull();
  });

  test('labels that no member has match nobody, and those that no filter names are refused', async () => {
    const { selection } = setup.app;
    expect(await selection.select(POOL, { labels: { country: 'IT' } })).toMatchObject({
      selection: null,
      reason: 'NO_MATCH',
    });
    const batch = await selection.selectBatch(POOL, { count: 3, labels: { country: 'IT' } });
    expect(batch).toMatchObject({ selections: [], reason: 'NO_MATCH' });
    await expect(selection.select(POOL, { labels: { type: 'x' } })).rejects.toMatchObject({
      code: 'FILTER_NOT_DECLARED',
    });
    expect(await pick({ labels: { country: 'de' } })).toBeNull();
  });

  test('excluded members are not picked', async () => {
    expect(Object.keys(await picks(12, { exclude: ['a', 'c', 'nobody'] })).sort()).toEqual(['b', 'd']);
    expect(await picks(3, { labels: DE, exclude: ['a'] })).toEqual({ b: 3 });
    expect(await setup.app.selection.select(POOL, { exclude: ['a', 'b', 'c', 'd'] })).toMatchObject({
      reason: 'NO_MATCH',
    });
  });

  test('a member that is banned for a target is picked for others only, and again when the ban has ended', async () => {
    await ban('a', 'one.example');
    await ban('b', 'one.example');
    expect(Object.keys(await picks(12, { target: 'one.example' })).sort()).toEqual(['c', 'd']);
    expect(Object.keys(await picks(40, { target: 'two.example' })).sort()).toEqual(['a', 'b', 'c', 'd']);
    await ban('a', 'one.example', -1);
    expect(Object.keys(await picks(40, { target: 'one.example' })).sort()).toEqual(['a', 'c', 'd']);
    expect(await picks(2, { target: 'one.example', labels: DE })).toEqual({ a: 2 });
    await ban('a', 'one.example');
    const nobody = await setup.app.selection.select(POOL, { target: 'one.example', labels: DE });
    expect(nobody).toMatchObject({ selection: null, reason: 'NO_MATCH' });
    expect(nobody.retryAfterMs).toBeGreaterThan(50_000);
  });

  test('a session keeps its member while that may be selected, and moves when it may not', async () => {
    const first = await pick({ session: 's' });
    expect(await picks(9, { session: 's' })).toEqual({ [String(first)]: 9 });
    await setup.app.pools.patchMember(POOL, String(first), { state: 'disabled' });
    const second = await pick({ session: 's' });
    expect(second).not.toBe(first);
    await setup.app.pools.patchMember(POOL, String(first), { state: 'eligible' });
    expect(await picks(9, { session: 's' })).toEqual({ [String(second)]: 9 });
    const others = new Set<string | null>();
    for (let n = 0; n < 120; n++) others.add(await pick({ session: `other ${n}` }));
    expect(others.size).toBe(4);
  });

  test('a session moves to a member that the request is content with', async () => {
    const first = await pick({ session: 's', labels: DE });
    await ban(String(first), 'one.example');
    const second = await pick({ session: 's', labels: DE, target: 'one.example' });
    expect([first, second].sort()).toEqual(['a', 'b']);
    expect(await pick({ session: 's', labels: { country: 'FR' } })).toBe('c');
    expect(await pick({ session: 's' })).toBe('c');
  });
});

test('a session whose member is at its capacity keeps it, and is told so although others are free', async () => {
  await fill('least-concurrency', EUROPE, { capacity: 1 });
  const { selection: service } = setup.app;
  const { selection } = await service.select(POOL, { session: 's' });
  const id = selection!.member.id;
  const atCapacity = { selection: null, reason: 'AT_CAPACITY', retryAfterMs: expect.any(Number) };
  expect(await service.select(POOL, { session: 's' })).toMatchObject(atCapacity);
  expect(await service.selectBatch(POOL, { session: 's', count: 2 })).toMatchObject({
    ...{ selections: [], reason: 'AT_CAPACITY' },
  });
  expect(await pick()).not.toBe(id);
  await service.complete(POOL, selection!.lease!.id);
  const again = await service.selectBatch(POOL, { session: 's', count: 2 });
  expect(again.reason).toBe('AT_CAPACITY');
  expect(again.selections.map(({ member }) => member.id)).toEqual([id]);
  // Where the request is not content with it, the session moves.
  expect((await service.select(POOL, { session: 's', exclude: [id] })).selection?.member.id).not.toBe(id);
});

describe('waiting', () => {
  test.each(['exclude', 'target', 'session'])('cannot go with %s', async (field) => {
    await fill('least-assigned', EUROPE);
    const request = { waitMs: 100, [field]: field === 'exclude' ? ['a'] : 'x' };
    await expect(setup.app.selection.select(POOL, request)).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      problems: [{ path: 'waitMs' }],
    });
  });
});

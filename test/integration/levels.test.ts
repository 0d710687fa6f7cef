import { describe, expect, test } from '@jest/globals';
import { OutcomeService } from '../../src/eligibility/health/outcome.service.js';
import type { SelectionRequest } from '../../src/selection/selection.types.js';
import { importMembers } from '../support/selection.app.js';
import { useSelection } from '../support/use.selection.js';

const setup = useSelection();
const POOL = 'shop';
const DE = { labels: { country: 'DE' } };
const FAST = { labels: { country: 'DE', tier: 'fast' } };
const AWAY_PICKS = 60;

type Members = Exclude<Parameters<typeof importMembers>[2][number], string>[];

/** Three of one label, two of which have another in common, and three of none. */
const MEMBERS: Members = [
  { id: 'a', labels: { country: 'DE', tier: 'slow' } },
  { id: 'b', labels: { country: 'DE', tier: 'fast' } },
  { id: 'c', labels: { country: 'DE', tier: 'fast' } },
  ...['x', 'y', 'z'].map((id) => ({ id })),
];

async function fill(strategy: string, members: Members): Promise<void> {
  await setup.app.pools.put(POOL, { strategy, filters: [['country'], ['country', 'tier']] });
  await importMembers(setup.app, POOL, members);
}

/** Selects a member, and gives it back at once where it was lent. */
async function pick(request: SelectionRequest = {}): Promise<string> {
  const { selection } = await setup.app.selection.select(POOL, request);
  if (selection?.lease) await setup.app.selection.complete(POOL, selection.lease.id);
  return selection?.member.id ?? 'nobody';
}

async function picks(times: number, request: SelectionRequest = {}): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (let n = 0; n < times; n++) {
    const id = await pick(request);
    counts[id] = (counts[id] ?? 0) + 1;
  }
  return counts;
}

const sessions = (from: number) => Array.from({ length: 30 }, (_, n) => `s${from + n}`);

/** Uses sessions, one after the other: session -> the member that it got. */
async function use(names: readonly string[]): Promise<Record<string, string>> {
  const membersOf: Record<string, string> = {};
  for (const session of names) membersOf[session] = await pick({ session });
  return membersOf;
}

/** Member -> how many of the sessions it has. */
function shares(membersOf: Record<string, string>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const id of Object.values(membersOf)) counts[id] = (counts[id] ?? 0) + 1;
  return counts;
}

/** How the member `c` goes away, and how it comes back. */
const WAYS: Record<string, { leave(): Promise<unknown>; comeBack(members: Members): Promise<unknown> }> = {
  'was disabled': {
    leave: () => setup.app.pools.patchMember(POOL, 'c', { state: 'disabled' }),
    comeBack: () => setup.app.pools.patchMember(POOL, 'c', { state: 'eligible' }),
  },
  'cooled after an outcome': {
    leave: () => setup.app.context.get(OutcomeService).report(POOL, 'c', { outcome: 'banned' }),
    comeBack: () => setup.app.pools.patchMember(POOL, 'c', { state: 'eligible' }),
  },
  'was removed': {
    leave: () => setup.app.pools.removeMember(POOL, 'c'),
    comeBack: (members) => importMembers(setup.app, POOL, members),
  },
  'was removed and forgotten': {
    leave: () => setup.app.pools.removeMember(POOL, 'c', { forget: true }),
    comeBack: (members) => importMembers(setup.app, POOL, members),
  },
};

describe.each(Object.entries(WAYS))('a member that %s and comes back takes no more than its share', (_, way) => {
  describe.each(['least-assigned', 'least-concurrency'])('under %s', (strategy) => {
    test('of the picks of the whole pool', async () => {
      await fill(strategy, MEMBERS);
      await picks(12);
      await way.leave();
      expect(await picks(AWAY_PICKS)).toEqual({ a: 12, b: 12, x: 12, y: 12, z: 12 });
      await way.comeBack(MEMBERS);
      expect(await picks(30)).toEqual({ a: 5, b: 5, c: 5, x: 5, y: 5, z: 5 });
    });

    test('of the picks for its label, when only that was asked for meanwhile', async () => {
      await fill(strategy, MEMBERS);
      await picks(12);
      await way.leave();
      expect(await picks(AWAY_PICKS, DE)).toEqual({ a: 30, b: 30 });
      await way.comeBack(MEMBERS);
      // Those of no label stand far below; they are not what it is to be levelled with.
      expect(await picks(30, DE)).toEqual({ a: 10, b: 10, c: 10 });
    });

    test('of the picks for the narrower of its labels, when those were asked for most', async () => {
      await fill(strategy, MEMBERS);
      await way.leave();
      expect(await picks(AWAY_PICKS, FAST)).toEqual({ b: 60 });
      await way.comeBack(MEMBERS);
      expect(await picks(20, FAST)).toEqual({ b: 10, c: 10 });
    });

    test('of the new sessions, when its sessions have moved away', async () => {
      await fill(strategy, MEMBERS.slice(0, 3));
      const before = await use(sessions(0));
      expect(shares(before)).toEqual({ a: 10, b: 10, c: 10 });
      await way.leave();
      const homeless = sessions(0).filter((session) => before[session] === 'c');
      expect(shares(await use(homeless))).toEqual({ a: 5, b: 5 });
      const moved = await use(sessions(0));
      expect(shares(moved)).toEqual({ a: 15, b: 15 });
      await way.comeBack(MEMBERS.slice(0, 3));
      expect(shares(await use(sessions(100)))).toEqual({ a: 10, b: 10, c: 10 });
      // Those that moved do not move back.
      expect(await use(sessions(0))).toEqual(moved);
    });
  });

  test.each([1, 2, 3, 7])('for its weight of %d, under least-assigned', async (weight) => {
    const members = [{ id: 'a' }, { id: 'b', weight: 2 }, { id: 'c', weight }];
    await fill('least-assigned', members);
    const rounds = 3 + weight;
    await picks(4 * rounds);
    await way.leave();
    expect(await picks(AWAY_PICKS)).toEqual({ a: 20, b: 40 });
    await way.comeBack(members);
    // Whole rounds, in each of which everybody has its turns.
    expect(await picks(5 * rounds)).toEqual({ a: 5, b: 10, c: 5 * weight });
  });
});

test.each(['least-assigned', 'least-concurrency'])(
  'a member whose label changes while it is away takes no more than its share of those that had it, under %s',
  async (strategy) => {
    await fill(
      strategy,
      ['a', 'b', 'c'].map((id) => ({ id, labels: { country: id === 'c' ? 'FR' : 'DE' } })),
    );
    await setup.app.pools.patchMember(POOL, 'c', { state: 'disabled' });
    expect(await picks(400, DE)).toEqual({ a: 200, b: 200 });
    await setup.app.pools.patchMember(POOL, 'c', { labels: { country: 'DE' }, state: 'eligible' });
    expect(await picks(60, DE)).toEqual({ a: 20, b: 20, c: 20 });
  },
);

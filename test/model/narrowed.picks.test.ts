import { describe, expect, test } from '@jest/globals';
import { LeaseService } from '../../src/selection/leases/lease.service.js';
import { KeyNames } from '../../src/selection/key.names.js';
import type { SelectionRequest } from '../../src/selection/selection.types.js';
import { poolProblems } from '../support/pool.invariants.js';
import { importMembers } from '../support/selection.app.js';
import { useSelection } from '../support/use.selection.js';

/**
 * Long runs of random requests that narrow, between bans that begin and end, members that come and go, and weights that change: each
 * answer is the one that a look at everybody gives. The restore policy is `keep`, so that nobody is levelled. Each of these lines, taken
 * out or turned round, made it fail (those with an asterisk with MODEL_RUNS=6000):
 *
 *   narrow.lua       sourceOf: `lowestSince`; passOver: `mayMove and`*; lookAt: `isRun and`; takeInEnded: `noteFit`, `at < most`; nextUnbanned:
 *                    the look at `lowest`
 *   descents.lua     withDescent: the removal of higher ranks, the rank of two that become one; lowestSince: the order
 *   catalogue.lua    `noteEntry`
 *   views.lua        moveInViews: the new entries
 *   lease-views.lua  shift: `noteReady`; settle.lua, lend.lua: `shift`
 *
 * Taking out what noteHandedOut does, or `noteReady` where several leases end at once, was not found by it; the former is seen to by
 * test/integration/ended.bans.test.ts.
 */
const STEPS = Number(process.env['MODEL_RUNS'] ?? 1_200);
const SEED = Number(process.env['MODEL_SEED'] ?? Date.now() % 1_000_000);
const MEMBERS = 40;
const TARGETS = ['one.example', 'two.example', 'three.example'];
const PICKED: Record<string, string> = { 'least-assigned': 'counts', 'least-concurrency': 'ready' };
const STRATEGIES = ['least-assigned', 'least-recently-used', 'random', 'least-concurrency'];
const setup = useSelection();
const names = new KeyNames('evenhand');

/** A linear congruential generator, so that a run can be repeated: Knuth, "The Art of Computer Programming", volume 2. */
class Chance {
  constructor(private state: number) {}
  next(): number {
    this.state = (this.state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return this.state / 2_147_483_648;
  }
  below(most: number): number {
    return Math.floor(this.next() * most);
  }
  of<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }
  member(): string {
    return `m${this.below(MEMBERS)}`;
  }
  request(): SelectionRequest {
    return {
      ...(this.next() < 0.7 && { target: this.of(TARGETS) }),
      ...(this.next() < 0.4 && { labels: { kind: this.of(['x', 'y']) } }),
      ...(this.next() < 0.2 && { exclude: ['m1', this.member(), this.member()] }),
    };
  }
}

const kindOf = (id: string) => (Number(id.slice(1)) % 3 === 0 ? 'x' : 'y');

async function fill(pool: string, strategy: string): Promise<void> {
  await setup.app.pools.put(pool, { strategy, restore: 'keep', initialCount: 0, filters: [['kind']] });
  const members = Array.from({ length: MEMBERS }, (_, n) => ({
    ...{ id: `m${n}`, labels: { kind: kindOf(`m${n}`) } },
    ...(n % 7 === 0 && { weight: 3 }),
  }));
  await importMembers(setup.app, pool, members);
}

/** Changes something at random in all of the pools alike; says whether it did. */
async function disturb(chance: Chance, pools: readonly string[]): Promise<boolean> {
  const what = chance.next();
  const [id, target] = [chance.member(), chance.of(TARGETS)];
  const [isOn, weight] = [chance.next() < 0.5, chance.of([1, 2, 5])];
  for (const pool of pools) {
    const [bans] = names.target(pool, target);
    if (what < 0.12) {
      await setup.redis.zadd(bans, isOn ? Date.now() + 1_000_000 : 1, id);
      await setup.redis.pexpire(bans, 3_600_000);
    } else if (what < 0.24) await setup.redis.zadd(bans, 'XX', 1, id);
    else if (what < 0.28) await setup.app.pools.patchMember(pool, id, { state: isOn ? 'disabled' : 'eligible' });
    else if (what < 0.3) await setup.app.pools.patchMember(pool, id, { weight });
  }
  return what < 0.3;
}

/** Who is next by a look at everybody. */
async function wanted(pool: string, strategy: string, { target, labels, exclude = [] }: SelectionRequest) {
  const flat = await setup.redis.zrange(
    `evenhand:{${pool}}:${strategy}:${PICKED[strategy] ?? 'ranks'}`,
    '0',
    '-1',
    'WITHSCORES',
  );
  const bans = target === undefined ? [] : await setup.redis.zrangebyscore(names.target(pool, target)[0], 2, '+inf');
  const fit = flat
    .flatMap((id, at) => (at % 2 === 0 ? [{ id, rank: Number(flat[at + 1]) }] : []))
    .filter(({ id }) => !exclude.includes(id) && !bans.includes(id) && (!labels || kindOf(id) === labels['kind']));
  fit.sort((a, b) => a.rank - b.rank || Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)));
  return fit[0]?.id;
}

describe.each(STRATEGIES)('under %s', (strategy) => {
  test('every answer is the one that a look at everybody gives', async () => {
    const chance = new Chance(SEED);
    await fill('shop', strategy);
    const live: string[] = [];
    for (let step = 0; step < STEPS; step++) {
      if (await disturb(chance, ['shop'])) continue;
      if (live.length > 0 && chance.next() < 0.3) {
        // Now and then so many that they travel together.
        const leases = live.splice(chance.below(live.length), chance.next() < 0.2 ? 8 : 1);
        await Promise.all(leases.map((lease) => setup.app.context.get(LeaseService).complete('shop', lease)));
        continue;
      }
      const request = chance.request();
      const expected = await wanted('shop', strategy, request);
      const { selection, reason } = await setup.app.selection.select('shop', request);
      expect({ seed: SEED, step, request, id: selection?.member.id }).toEqual({
        seed: SEED,
        step,
        request,
        id: expected,
      });
      if (selection === null) expect(reason).toBe('NO_MATCH');
      if (selection?.lease) live.push(selection.lease.id);
    }
    expect(await poolProblems(setup.redis)).toEqual([]);
  }, 60_000);
});

test.each(['least-assigned', 'least-recently-used', 'least-concurrency'])(
  'under %s a batch is what as many single selections are',
  async (strategy) => {
    const chance = new Chance(SEED);
    const pools = ['shop', 'other'];
    for (const pool of pools) await fill(pool, strategy);
    for (let step = 0; step < STEPS / 8; step++) {
      await disturb(chance, pools);
      const [request, count] = [
        { ...chance.request(), ...(chance.next() < 0.3 && { session: `s${chance.below(9)}` }) },
        1 + chance.below(30),
      ];
      const { selections } = await setup.app.selection.selectBatch('shop', { ...request, count });
      const singles: string[] = [];
      for (let n = 0; n < count; n++) {
        const { selection } = await setup.app.selection.select('other', request);
        if (selection) singles.push(selection.member.id);
      }
      const batch = selections.map((each) => each.member.id);
      expect({ seed: SEED, step, request, count, ids: batch }).toEqual({
        seed: SEED,
        step,
        request,
        count,
        ids: singles,
      });
    }
  },
  60_000,
);

import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { OutcomeService } from '../../src/eligibility/health/outcome.service.js';
import { LeaseService } from '../../src/selection/leases/lease.service.js';
import { poolProblems } from '../support/pool.invariants.js';
import { useSelection } from '../support/use.selection.js';
import { type LentMember, LentPool, type LentWish, POOL, bansOf, keys } from './lent.pool.js';

/**
 * Who is picked, against all that Redis holds, looked at one by one before each pick. Each of these, taken out or turned round, made it
 * fail:
 *
 *   narrow.lua       taking in the bans that have ended; noting where those members stand; the look further back than the lowest
 *                    descent; a new generation for a cursor that has moved; the rank of the member at the cursor's place; not moving
 *                    it over somebody who was passed over for another reason than a ban (`isRun`, `mayMove`)
 *   descents.lua     the entries that are kept (`>= rank`); those of the cursor's own generation (`>=`)
 *   lease-views.lua  shift: `noteReady`
 *   catalogue.lua    place: `noteEntry`
 *   acquire.lua      isAnyFull: whoever is banned or excluded
 *
 * That the two oldest descents become one is seen to by test/integration/descents.test.ts.
 */

const RUNS = Number(process.env['MODEL_RUNS'] ?? 4);
const setup = useSelection();
const TARGETS = ['one.example', 'two.example', 'three.example'];
const MEMBERS: LentMember[] = Array.from({ length: 40 }, (_, n) => ({
  id: `m${String(n).padStart(2, '0')}`,
  weight: n % 5 === 0 ? 3 : 1,
  capacity: (n % 4) + 1,
  labels: { country: n % 2 === 0 ? 'DE' : 'FR' },
}));

const id = fc.constantFrom(...MEMBERS.map((member) => member.id));
const target = fc.constantFrom(...TARGETS);
const kind = <Kind extends string>(name: Kind) => fc.constant(name);
const ids = fc.oneof(
  { weight: 3, arbitrary: fc.uniqueArray(id, { minLength: 1, maxLength: 6 }) },
  { weight: 1, arbitrary: fc.uniqueArray(id, { minLength: 20, maxLength: 40, size: 'max' }) },
);
const wish: fc.Arbitrary<LentWish> = fc.record(
  {
    target,
    labels: fc.record({ country: fc.constantFrom('DE', 'FR') }),
    exclude: fc.uniqueArray(id, { maxLength: 3 }),
  },
  { requiredKeys: ['target'] },
);
const at = fc.integer({ min: 0, max: 999 });
const operation = fc.oneof(
  { weight: 12, arbitrary: fc.record({ kind: kind('pick'), wish, count: fc.constantFrom(1, 1, 1, 4) }) },
  { weight: 10, arbitrary: fc.record({ kind: kind('end'), at }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('expire'), at }) },
  { weight: 3, arbitrary: fc.record({ kind: kind('ban'), target, ids }) },
  { weight: 3, arbitrary: fc.record({ kind: kind('unban'), target, ids }) },
  { weight: 3, arbitrary: fc.record({ kind: kind('disable'), id }) },
  { weight: 4, arbitrary: fc.record({ kind: kind('enable'), id }) },
);
type Operation = typeof operation extends fc.Arbitrary<infer Each> ? Each : never;

/** The leases that the test has made and not ended. */
type Held = string[];

async function apply(held: Held, change: Operation): Promise<void> {
  const { app, redis } = setup;
  switch (change.kind) {
    case 'pick':
      return pick(held, change.wish, change.count);
    case 'end':
      for (const lease of held.splice(change.at % Math.max(held.length, 1), 1))
        await app.context.get(LeaseService).complete(POOL, lease).catch(unlessExpired);
      return;
    case 'expire': {
      const names = await redis.zrange(keys.leases, '0', '-1');
      if (names.length === 0) return;
      await redis.zadd(keys.leases, 'XX', Date.now() - 500, names[change.at % names.length]!);
      await redis.hset(keys.settings, 'due', Date.now() - 500);
      return;
    }
    case 'ban': {
      const outcomes = change.ids.map((each) => ({ id: each, outcome: 'banned' as const, target: change.target }));
      await app.context.get(OutcomeService).reportBatch(POOL, { outcomes });
      return;
    }
    case 'unban':
      for (const each of change.ids) await redis.zadd(bansOf(change.target), 'XX', Date.now() - 60_000, each);
      return;
    case 'disable':
      await app.pools.patchMember(POOL, change.id, { state: 'disabled' });
      return;
    case 'enable':
      await app.pools.patchMember(POOL, change.id, { state: 'eligible' });
  }
}

async function pick(held: Held, wish: LentWish, count: number): Promise<void> {
  const right = await LentPool.read(setup.redis, MEMBERS, wish);
  const { selections, reason } = await setup.app.selection.selectBatch(POOL, { ...wish, count, ttlMs: 3_600_000 });
  const expected: string[] = [];
  while (expected.length < count) {
    const next = right.pick();
    if (next === null) break;
    expected.push(next);
  }
  expect(selections.map(({ member }) => member.id)).toEqual(expected);
  expect(reason).toBe(expected.length < count ? right.reason : null);
  for (const { lease } of selections) held.push(lease!.id);
}

function unlessExpired(error: unknown): void {
  expect(error).toMatchObject({ code: 'LEASE_EXPIRED' });
}

test('among many bans that come and end, and loads that rise and fall, least-concurrency picks who is next, exactly', async () => {
  const operations = fc.array(operation, { minLength: 400, maxLength: 600, size: 'max' });
  const property = fc.asyncProperty(operations, async (changes) => {
    await setup.redis.flushall();
    await setup.app.pools.put(POOL, {
      strategy: 'least-concurrency',
      filters: [['country']],
      lease: { ttlMs: 3_600_000, maxTtlMs: 3_600_000 },
    });
    await setup.app.pools.importMembers(POOL, { format: 'json', body: JSON.stringify({ members: MEMBERS }) });
    const held: Held = [];
    for (const change of changes) await apply(held, change);
    expect(await poolProblems(setup.redis)).toEqual([]);
  });
  await fc.assert(property, { numRuns: RUNS, endOnFailure: true });
}, 240_000);

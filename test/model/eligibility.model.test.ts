import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ExplainService } from '../../src/eligibility/explain/explain.service.js';
import { poolProblems } from '../support/pool.invariants.js';
import { importMembers } from '../support/selection.app.js';
import { useSelection } from '../support/use.selection.js';

const setup = useSelection();
const RUNS = Number(process.env['MODEL_RUNS'] ?? 40);
const IDS = ['a', 'b', 'c', 'd', 'e', 'f'];
const COUNTRIES = ['DE', 'FR'] as const;
type Country = (typeof COUNTRIES)[number];

/** What bears on a member, and is remembered of one that was removed. */
interface Known {
  isDisabled: boolean;
  isCooling: boolean;
}

/** The pool as it should be: every rule in one line. */
class Model {
  readonly members = new Map<string, Known & { country: Country }>();
  readonly history = new Map<string, Known>();
  wanted: Country | null = null;

  import(id: string, country: Country): void {
    const known = this.members.get(id) ?? this.history.get(id) ?? { isDisabled: false, isCooling: false };
    this.history.delete(id);
    this.members.set(id, { ...known, country });
  }

  remove(id: string, forget: boolean): void {
    const member = this.members.get(id);
    if (member) this.history.set(id, member);
    if (forget) this.history.delete(id);
    this.members.delete(id);
  }

  reasonOf(id: string): string | null {
    const { isDisabled, isCooling, country } = this.members.get(id)!;
    if (isDisabled) return 'disabled';
    if (this.wanted !== null && this.wanted !== country) return 'policy';
    return isCooling ? 'cooling' : null;
  }
}

const id = fc.constantFrom(...IDS);
const country = fc.constantFrom(...COUNTRIES);
const operation = fc.oneof(
  fc.record({ kind: fc.constant('import' as const), ids: fc.uniqueArray(id, { minLength: 1 }), country }),
  fc.record({ kind: fc.constant('label' as const), id, country }),
  fc.record({ kind: fc.constant('weight' as const), id, weight: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ kind: fc.constant('disable' as const), id }),
  fc.record({ kind: fc.constant('enable' as const), id }),
  fc.record({ kind: fc.constant('cool' as const), id }),
  fc.record({ kind: fc.constant('remove' as const), id, forget: fc.boolean() }),
  fc.record({ kind: fc.constant('policy' as const), wanted: fc.constantFrom(...COUNTRIES, null) }),
  fc.record({ kind: fc.constant('filters' as const), filters: fc.subarray([['country'], ['country', 'tier']]) }),
  fc.record({ kind: fc.constant('select' as const), count: fc.integer({ min: 1, max: 9 }) }),
);
type Operation = typeof operation extends fc.Arbitrary<infer Each> ? Each : never;

/** Does it to the pool and to the model; an operation on a member that is not there is passed over. */
async function apply(model: Model, change: Operation): Promise<void> {
  const { pools, selection } = setup.app;
  if ('id' in change && !model.members.has(change.id)) return;
  switch (change.kind) {
    case 'import': {
      const labels = { country: change.country };
      await importMembers(
        setup.app,
        'shop',
        change.ids.map((each) => ({ id: each, labels })),
      );
      for (const each of change.ids) model.import(each, change.country);
      return;
    }
    case 'label':
      await pools.patchMember('shop', change.id, { labels: { country: change.country, tier: 1 } });
      model.members.get(change.id)!.country = change.country;
      return;
    case 'weight':
      await pools.patchMember('shop', change.id, { weight: change.weight });
      return;
    case 'disable':
      await pools.patchMember('shop', change.id, { state: 'disabled' });
      model.members.get(change.id)!.isDisabled = true;
      return;
    case 'enable':
      await pools.patchMember('shop', change.id, { state: 'eligible' });
      Object.assign(model.members.get(change.id)!, { isDisabled: false, isCooling: false });
      return;
    case 'cool':
      await pools.patchMember('shop', change.id, { cooldownMs: 600_000 });
      model.members.get(change.id)!.isCooling = true;
      return;
    case 'remove':
      await pools.removeMember('shop', change.id, { forget: change.forget });
      return model.remove(change.id, change.forget);
    case 'policy': {
      const { wanted } = change;
      await pools.put('shop', { policy: wanted && { labels: { required: { country: wanted } } } });
      model.wanted = wanted;
      return;
    }
    case 'filters':
      await pools.put('shop', { filters: change.filters });
      return;
    case 'select':
      return checkSelected(model, (await selection.selectBatch('shop', { count: change.count })).selections);
  }
}

function checkSelected(model: Model, selections: readonly { member: { id: string } }[]): void {
  for (const { member } of selections) expect([member.id, model.reasonOf(member.id)]).toEqual([member.id, null]);
}

async function checkStates(model: Model): Promise<void> {
  const { members } = await setup.app.pools.listMembers('shop');
  const wanted = [...model.members.keys()].sort().map((each) => [each, model.reasonOf(each)]);
  expect(members.map((member) => [member.id, member.reason])).toEqual(wanted);
  const counted = await setup.app.context.get(ExplainService).explain('shop', { exclude: ['nobody'] });
  const { members: total, eligible, withdrawn } = counted;
  expect(counted.match).toMatchObject({ members: total, eligible, withdrawn });
  expect(eligible).toBe(wanted.filter(([, reason]) => reason === null).length);
}

test.each(['least-assigned', 'least-concurrency', 'least-recently-used', 'random'])(
  'whatever happens, under %s every member is in the state that follows from what is known of it',
  async (strategy) => {
    const property = fc.asyncProperty(fc.array(operation, { minLength: 5, maxLength: 30 }), async (operations) => {
      await setup.redis.flushall();
      await setup.app.pools.put('shop', { strategy, capacity: 2 });
      const model = new Model();
      for (const change of operations) await apply(model, change);
      await checkStates(model);
      expect(await poolProblems(setup.redis)).toEqual([]);
    });
    await fc.assert(property, { numRuns: RUNS });
  },
);

import fc from 'fast-check';
import type { Restore, Wish } from './counted.model.js';

export const IDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
export const TARGETS = ['one.example', 'two.example'];
const COUNTRIES = ['DE', 'FR'];
const TIERS = ['x', 'y'];

const id = fc.constantFrom(...IDS);
const target = fc.constantFrom(...TARGETS);
const country = fc.constantFrom(...COUNTRIES);
const tier = fc.constantFrom(...TIERS);
const labels = fc.oneof(fc.record({ country }), fc.record({ country, tier }), fc.record({ tier }), fc.constant({}));
const weight = fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 4 }));
const count = fc.integer({ min: 1, max: 9 });

/** Any mix of what narrows a selection; often nothing. */
const wish: fc.Arbitrary<Wish> = fc.record(
  {
    labels: fc.oneof(fc.record({ country }), fc.record({ country, tier })),
    exclude: fc.uniqueArray(id, { maxLength: 3 }),
    target,
    session: fc.constantFrom('s1', 's2'),
  },
  { requiredKeys: [] },
);
const kind = <Kind extends string>(name: Kind) => fc.constant(name);

export const operation = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: kind('select'), wish }) },
  { weight: 3, arbitrary: fc.record({ kind: kind('select'), wish: fc.record({ target }) }) },
  { weight: 3, arbitrary: fc.record({ kind: kind('batch'), wish, count }) },
  { weight: 3, arbitrary: fc.record({ kind: kind('ban'), target, ids: fc.uniqueArray(id, { minLength: 1 }) }) },
  { weight: 3, arbitrary: fc.record({ kind: kind('unban'), target, ids: fc.uniqueArray(id, { minLength: 1 }) }) },
  fc.record({ kind: kind('import'), ids: fc.uniqueArray(id, { minLength: 1, maxLength: 3 }), weight, labels }),
  fc.record({ kind: kind('remove'), id, forget: fc.boolean() }),
  fc.record({ kind: kind('patch'), id, changes: fc.record({ weight, labels }, { requiredKeys: [] }) }),
  fc.record({ kind: kind('disable'), id }),
  fc.record({ kind: kind('enable'), id }),
  fc.record({ kind: kind('cool'), id }),
  fc.record({ kind: kind('filters'), filters: fc.subarray([['country'], ['country', 'tier']]) }),
  fc.record({ kind: kind('restore'), restore: fc.constantFrom<Restore>('level', 'keep', 'reset') }),
  fc.record({ kind: kind('round trip'), picks: fc.integer({ min: 0, max: 3 }) }),
  fc.record({ kind: kind('forget session'), session: fc.constantFrom('s1', 's2') }),
);
export type Operation = typeof operation extends fc.Arbitrary<infer Each> ? Each : never;

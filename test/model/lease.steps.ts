import fc from 'fast-check';
import { CompleteMany, End, Extend } from './lease.commands.js';
import type { Wish } from './lease.model.js';
import { type Command, type Loss, MEMBERS, STEP_MS, TTL_MS } from './lease.step.js';
import { Admit, Ban, Change, type Patch, Remove } from './member.commands.js';
import { Configure, Declare, Fault, Pass } from './pool.commands.js';
import { Retry, Select, SelectBatch } from './selection.commands.js';

const id = fc.constantFrom(...MEMBERS);
const at = fc.integer({ min: 0, max: 99 }).map((percent) => percent / 100);
const loss = fc.oneof(
  { weight: 30, arbitrary: fc.constant<Loss>('none') },
  { weight: 1, arbitrary: fc.constantFrom<Loss>('request', 'reply') },
);
const ttl = fc.integer({ min: 0, max: 9 }).map((count) => count * STEP_MS + STEP_MS / 2);
const capacity = fc.option(fc.integer({ min: 1, max: 4 }));
const patch = fc.oneof(
  fc.constantFrom<Patch>({ state: 'eligible' }, { state: 'disabled' }),
  fc.record<Patch>({ weight: fc.integer({ min: 1, max: 5 }) }),
  fc.record<Patch>({ capacity }),
);
const target = fc.constantFrom('one.example', 'two.example');
const wish: fc.Arbitrary<Wish> = fc.record(
  {
    labels: fc.constantFrom({ country: 'DE' }, { country: 'FR' }),
    exclude: fc.uniqueArray(id, { maxLength: 2 }),
    target,
    session: fc.constantFrom('s1', 's2'),
  },
  { requiredKeys: [] },
);

/** Every kind of step; those that make leases come more often. */
export const steps: fc.Arbitrary<Command>[] = [
  ttl.map((ttlMs) => new Select(ttlMs)),
  fc.constant(TTL_MS).map((ttlMs) => new Select(ttlMs)),
  fc.integer({ min: 1, max: 5 }).map((count) => new SelectBatch(count)),
  fc.tuple(fc.integer({ min: 1, max: 3 }), wish).map((args) => new SelectBatch(...args)),
  fc.tuple(fc.integer({ min: 1, max: 3 }), wish).map((args) => new SelectBatch(...args)),
  fc.tuple(target, id, fc.boolean()).map((args) => new Ban(...args)),
  fc.boolean().map((hasFilter) => new Declare(hasFilter)),
  fc.tuple(fc.constantFrom('r1', 'r2', 'r3', 'r4'), loss).map((args) => new Retry(...args)),
  fc.tuple(at, fc.constantFrom('completed', 'abandoned', 'forced'), loss).map((args) => new End(...args)),
  fc.tuple(at, fc.constant<'completed'>('completed'), fc.constant<Loss>('none')).map((args) => new End(...args)),
  fc.array(at, { minLength: 8, maxLength: 12 }).map((each) => new CompleteMany(each)),
  fc.tuple(at, ttl).map((args) => new Extend(...args)),
  fc.integer({ min: 1, max: 5 }).map((count) => new Pass(count * STEP_MS)),
  id.map((member) => new Admit(member)),
  id.map((member) => new Remove(member)),
  fc.tuple(id, patch).map((args) => new Change(...args)),
  fc.oneof(fc.record({ capacity }), fc.record({ limit: capacity })).map((changes) => new Configure(changes)),
  fc
    .oneof(
      { weight: 8, arbitrary: fc.constant<'script flush'>('script flush') },
      { weight: 1, arbitrary: fc.constantFrom<'restart' | 'cut'>('restart', 'cut') },
    )
    .map((kind) => new Fault(kind)),
];

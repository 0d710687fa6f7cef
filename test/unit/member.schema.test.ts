import { describe, expect, test } from '@jest/globals';
import { memberEntrySchema, memberIdSchema } from '../../src/pool/member.schema.js';

const labels = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`l${n}`, n]));

describe('a member entry', () => {
  test.each<[string, object]>([
    ['an id alone', { id: 'a' }],
    ['a value alone', { value: '192.0.2.1:80' }],
    ['the longest id and value', { id: 'i'.repeat(512), value: 'v'.repeat(4_096) }],
    ['any characters but control characters', { id: ' ü中💡"\\/<>&\u00a0' }],
    [
      '32 labels, with the longest name and value',
      { id: 'a', labels: { ...labels(31), ['n'.repeat(256)]: 'v'.repeat(256) } },
    ],
    ['labels of every kind', { id: 'a', labels: { text: '', number: -1.5, yes: true, constructor: 'x' } }],
    ['the least and the most', { id: 'a', weight: 1, capacity: 1 }],
    ['the most', { id: 'a', weight: 100, capacity: 1_000 }],
    ['no capacity of its own', { id: 'a', capacity: null }],
  ])('may have %s', (_name, entry) => {
    expect(memberEntrySchema.parse(entry)).toEqual(entry);
  });

  test.each<[object, string]>([
    [{}, ''],
    [{ id: '' }, 'id'],
    [{ id: 7 }, 'id'],
    [{ id: null }, 'id'],
    [{ id: 'i'.repeat(513) }, 'id'],
    [{ id: 'a\u0000' }, 'id'],
    [{ id: 'a\u0085' }, 'id'],
    [{ id: 'a\uD800' }, 'id'],
    [{ id: '__proto__' }, 'id'],
    [{ id: 'a', value: '' }, 'value'],
    [{ id: 'a', value: 7 }, 'value'],
    [{ id: 'a', value: 'v'.repeat(4_097) }, 'value'],
    [{ id: 'a', labels: [] }, 'labels'],
    [{ id: 'a', labels: labels(33) }, 'labels'],
    [{ id: 'a', labels: { '': 1 } }, 'labels.'],
    [{ id: 'a', labels: { ['n'.repeat(257)]: 1 } }, `labels.${'n'.repeat(257)}`],
    [{ id: 'a', labels: { n: 'v'.repeat(257) } }, 'labels.n'],
    [{ id: 'a', labels: { n: null } }, 'labels.n'],
    [{ id: 'a', labels: { n: Infinity } }, 'labels.n'],
    [{ id: 'a', weight: 0 }, 'weight'],
    [{ id: 'a', weight: 101 }, 'weight'],
    [{ id: 'a', weight: 1.5 }, 'weight'],
    [{ id: 'a', weight: '3' }, 'weight'],
    [{ id: 'a', weight: null }, 'weight'],
    [{ id: 'a', weight: 1e300 }, 'weight'],
    [{ id: 'a', capacity: 0 }, 'capacity'],
    [{ id: 'a', capacity: 1_001 }, 'capacity'],
    [{ id: 'a', capacity: true }, 'capacity'],
    [{ id: 'a', extra: 1 }, ''],
  ])('%j is refused at its field', (entry, path) => {
    const { error } = memberEntrySchema.safeParse(entry);
    expect(new Set(error?.issues.map((issue) => issue.path.join('.')))).toEqual(new Set([path]));
  });
});

test('every problem has a message that says what would be right', () => {
  for (const entry of [
    { id: 7 },
    { id: 'a', labels: { n: {} } },
    { id: 'a', weight: 0 },
    { id: 'a', capacity: 'x' },
    [],
  ]) {
    for (const { message } of memberEntrySchema.safeParse(entry).error?.issues ?? []) expect(message).toMatch(/^must /);
  }
  expect(memberIdSchema.safeParse('__proto__').error?.issues[0]?.message).toBe('must not be __proto__');
});

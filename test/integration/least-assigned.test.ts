import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { givePool, importMembers, startSelection, tally } from '../support/selection.app.js';
import { useSelection } from '../support/use.selection.js';

const setup = useSelection();

describe('a selection', () => {
  test('goes to the member with the fewest assignments, ties by id, and counts', async () => {
    await givePool(setup.app, 'shop', ['c', 'a', 'b']);
    const ids = [];
    for (let n = 0; n < 6; n++) ids.push((await setup.app.selection.select('shop')).selection?.member.id);
    expect(ids).toEqual(['a', 'b', 'c', 'a', 'b', 'c']);
    expect((await setup.app.pools.getMember('shop', 'b')).assigned).toBe(2);
    expect((await setup.app.pools.get('shop')).assigned).toBe(6);
  });

  test('answers with the value, the labels and the count, this time included', async () => {
    await setup.app.pools.put('shop');
    await importMembers(setup.app, 'shop', [
      { id: 'a', value: 'secret "quoted"\nline', labels: { z: 'ü', country: 'DE' } },
    ]);
    await setup.app.selection.select('shop');
    expect(await setup.app.selection.select('shop')).toEqual({
      selection: {
        member: { id: 'a', value: 'secret "quoted"\nline', labels: { country: 'DE', z: 'ü' } },
        assigned: 2,
        lease: null,
      },
      reason: null,
      retryAfterMs: null,
    });
  });

  test('with one eligible member returns it every time: nothing is reserved', async () => {
    await givePool(setup.app, 'shop', ['only']);
    expect(await tally(setup.app, 'shop', 5)).toEqual({ only: 5 });
  });

  test('of an empty pool is null, and of one whose members are all withdrawn too, each with its reason', async () => {
    await setup.app.pools.put('shop');
    expect(await setup.app.selection.select('shop')).toEqual({
      selection: null,
      reason: 'EMPTY_POOL',
      retryAfterMs: null,
    });
    await importMembers(setup.app, 'shop', ['a']);
    await setup.app.pools.patchMember('shop', 'a', { state: 'disabled' });
    expect(await setup.app.selection.select('shop')).toEqual({
      selection: null,
      reason: 'NONE_ELIGIBLE',
      retryAfterMs: null,
    });
    expect(await setup.app.selection.selectBatch('shop', { count: 3 })).toEqual({
      selections: [],
      reason: 'NONE_ELIGIBLE',
      retryAfterMs: null,
    });
  });

  test('of a pool that does not exist, or was deleted while remembered, is refused', async () => {
    await expect(setup.app.selection.select('nowhere')).rejects.toMatchObject({ code: 'POOL_NOT_FOUND' });
    await givePool(setup.app, 'shop', ['a']);
    await setup.app.selection.select('shop');
    const other = await startSelection(setup.server.url);
    await other.pools.delete('shop');
    await other.close();
    await expect(setup.app.selection.select('shop')).rejects.toMatchObject({ code: 'POOL_NOT_FOUND' });
  });

  test('refuses what is not of the right kind, and takes lease fields without effect', async () => {
    await givePool(setup.app, 'shop', ['a']);
    for (const field of ['labels', 'exclude', 'waitMs']) {
      await expect(setup.app.selection.select('shop', { [field]: 'x' })).rejects.toMatchObject({
        code: 'VALIDATION_FAILED',
        problems: [{ path: field }],
      });
    }
    const { selection } = await setup.app.selection.select('shop', {
      ttlMs: 5_000,
      owner: 'crawler-1',
      requestId: 'r1',
    });
    expect(selection?.lease).toBeNull();
    expect((await setup.app.pools.get('shop')).assigned).toBe(1);
  });

  test('concurrent ones over equal members leave a spread of at most one', async () => {
    const ids = Array.from({ length: 37 }, (_, n) => `m${n}`);
    await givePool(setup.app, 'shop', ids);
    const results = await Promise.all(Array.from({ length: 1_000 }, () => setup.app.selection.select('shop')));
    const counts = new Map<string, number>();
    for (const { selection } of results) counts.set(selection!.member.id, (counts.get(selection!.member.id) ?? 0) + 1);
    expect(Math.max(...counts.values()) - Math.min(...counts.values())).toBeLessThanOrEqual(1);
    expect(counts.size).toBe(37);
  });

  test('is one round trip and one script', async () => {
    await givePool(setup.app, 'shop', ['a']);
    await setup.app.selection.select('shop');
    await setup.redis.config('RESETSTAT');
    await setup.app.selection.select('shop');
    const stats = await setup.redis.info('commandstats');
    expect(stats).toMatch(/cmdstat_evalsha:calls=1,/);
    expect(stats).not.toMatch(/cmdstat_eval:/);
  });
});

describe('weights', () => {
  test('share each whole round exactly', async () => {
    await givePool(setup.app, 'shop', [
      { id: 'one', weight: 1 },
      { id: 'three', weight: 3 },
      { id: 'seven', weight: 7 },
    ]);
    for (let round = 1; round <= 4; round++) {
      expect(await tally(setup.app, 'shop', 11)).toEqual({ one: 1, three: 3, seven: 7 });
    }
  });

  test('spread the picks of a heavy member over the round', async () => {
    await givePool(setup.app, 'shop', [
      { id: 'a', weight: 1 },
      { id: 'b', weight: 2 },
      { id: 'c', weight: 1 },
    ]);
    const { selections } = await setup.app.selection.selectBatch('shop', { count: 8 });
    expect(selections.map(({ member }) => member.id).join('')).toBe('abcbabcb');
  });

  test('a change keeps the balance and the number of selections', async () => {
    await givePool(setup.app, 'shop', ['a', 'b']);
    await tally(setup.app, 'shop', 200);
    await setup.app.pools.patchMember('shop', 'a', { weight: 4 });
    expect(await setup.app.pools.getMember('shop', 'a')).toMatchObject({ weight: 4, assigned: 100 });
    expect(await tally(setup.app, 'shop', 50)).toEqual({ a: 40, b: 10 });
    expect((await setup.app.pools.getMember('shop', 'a')).assigned).toBe(140);
  });

  test('any set of weights gives each member its share of every whole round', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 8 }), async (weights) => {
        await setup.redis.flushall();
        await givePool(
          setup.app,
          'shop',
          weights.map((weight, n) => ({ id: `m${n}`, weight })),
        );
        const round = weights.reduce((sum, weight) => sum + weight, 0);
        for (let rounds = 1; rounds <= 2; rounds++) {
          const { selections } = await setup.app.selection.selectBatch('shop', { count: round });
          const counts = weights.map((_, n) => selections.filter(({ member }) => member.id === `m${n}`).length);
          expect(counts).toEqual(weights);
        }
      }),
      { numRuns: 40 },
    );
  });
});

describe('a batch', () => {
  const member = fc.record({
    id: fc.string({ minLength: 1, maxLength: 6 }).filter(isPlainId),
    weight: fc.oneof(
      { weight: 3, arbitrary: fc.constant(1) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 100 }) },
    ),
    initialCount: fc.integer({ min: 0, max: 6 }),
  });

  test('gives what as many single selections in a row would give', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(member, { selector: ({ id }) => id, minLength: 1, maxLength: 12 }),
        fc.integer({ min: 0, max: 30 }),
        fc.array(fc.integer({ min: 1, max: 25 }), { minLength: 1, maxLength: 4 }),
        async (members, before, batches) => {
          await setup.redis.flushall();
          for (const pool of ['single', 'batch']) {
            for (const { initialCount, ...fields } of members)
              await givePool(setup.app, pool, [fields], { initialCount });
            for (let n = 0; n < before; n++) await setup.app.selection.select(pool);
          }
          for (const count of batches) {
            const single = [];
            for (let n = 0; n < count; n++) single.push((await setup.app.selection.select('single')).selection);
            expect((await setup.app.selection.selectBatch('batch', { count })).selections).toEqual(single);
          }
          expect((await setup.app.pools.listMembers('batch')).members).toEqual(
            (await setup.app.pools.listMembers('single')).members,
          );
          expect((await setup.app.pools.get('batch')).assigned).toBe((await setup.app.pools.get('single')).assigned);
        },
      ),
      { numRuns: 60 },
    );
  });

  test('of a thousand from ten members, and of a thousand from two thousand, is exact', async () => {
    await givePool(
      setup.app,
      'few',
      Array.from({ length: 10 }, (_, n) => `m${n}`),
    );
    await givePool(
      setup.app,
      'many',
      Array.from({ length: 2_000 }, (_, n) => `m${n}`),
    );
    const few = (await setup.app.selection.selectBatch('few', { count: 1_000 })).selections;
    expect(few.at(-1)).toMatchObject({ member: { id: 'm9' }, assigned: 100 });
    const many = (await setup.app.selection.selectBatch('many', { count: 1_000 })).selections;
    expect(new Set(many.map((selection) => selection.member.id)).size).toBe(1_000);
  });

  test.each([0, 1_001, 1.5, -1, Number.NaN])('of %p is refused', async (count) => {
    await givePool(setup.app, 'shop', ['a']);
    await expect(setup.app.selection.selectBatch('shop', { count })).rejects.toMatchObject({
      problems: [{ path: 'count' }],
    });
  });
});

describe('a member that was away', () => {
  /** Two others do 500 picks while the member, at count 1,000, is away; then it comes back for 300. */
  async function absence(
    restore: 'level' | 'keep' | 'reset',
    leave: () => Promise<unknown>,
    comeBack: () => Promise<unknown>,
  ) {
    await givePool(setup.app, 'shop', ['a', 'b', 'c'], { restore });
    for (let n = 0; n < 3; n++) await setup.app.selection.selectBatch('shop', { count: 1_000 });
    await leave();
    await setup.app.selection.selectBatch('shop', { count: 500 });
    await comeBack();
    const counts = await tally(setup.app, 'shop', 300);
    const { assigned } = await setup.app.pools.getMember('shop', 'c');
    expect(assigned).toBe(1_000 + (counts['c'] ?? 0));
    return counts['c'] ?? 0;
  }
  const disable = () => setup.app.pools.patchMember('shop', 'c', { state: 'disabled' });
  const enable = () => setup.app.pools.patchMember('shop', 'c', { state: 'eligible' });
  const remove = () => setup.app.pools.removeMember('shop', 'c');
  const reimport = () => importMembers(setup.app, 'shop', ['c']);

  test.each([
    ['disabled', disable, enable],
    ['removed', remove, reimport],
  ])('%s: gets its share and no more under `level`', async (_how, leave, comeBack) => {
    const got = await absence('level', leave, comeBack);
    expect(Math.abs(got - 100)).toBeLessThanOrEqual(1);
  });

  test.each([
    ['disabled', disable, enable],
    ['removed', remove, reimport],
  ])('%s: makes up all of its deficit first under `keep`', async (_how, leave, comeBack) => {
    // The others stand at 1,250: it takes 250 picks alone, and a third of the other 50.
    const got = await absence('keep', leave, comeBack);
    expect(Math.abs(got - (250 + 50 / 3))).toBeLessThanOrEqual(1);
  });

  test.each([
    ['disabled', disable, enable],
    ['removed', remove, reimport],
  ])('%s: begins at zero and takes every pick under `reset`', async (_how, leave, comeBack) => {
    expect(await absence('reset', leave, comeBack)).toBe(300);
  });

  test('forgotten on removal: comes back as new, at the level, with no selections', async () => {
    await givePool(setup.app, 'shop', ['a', 'b']);
    await tally(setup.app, 'shop', 20);
    await setup.app.pools.removeMember('shop', 'b', { forget: true });
    expect(await importMembers(setup.app, 'shop', ['b'])).toMatchObject({ added: 1, restored: 0 });
    expect((await setup.app.pools.getMember('shop', 'b')).assigned).toBe(0);
    expect(await tally(setup.app, 'shop', 20)).toEqual({ a: 10, b: 10 });
  });

  test('that stood above the level keeps its place', async () => {
    await givePool(setup.app, 'shop', ['a', 'b']);
    await tally(setup.app, 'shop', 20);
    await setup.app.pools.patchMember('shop', 'b', { state: 'disabled' });
    await setup.app.pools.put('shop', { initialCount: 0 });
    await importMembers(setup.app, 'shop', ['d']);
    await setup.app.pools.patchMember('shop', 'b', { state: 'eligible' });
    expect(await tally(setup.app, 'shop', 10)).toEqual({ d: 10 });
  });
});

describe('a new member', () => {
  test.each([
    ['level' as const, 5],
    [0, 11],
    [8, 6],
    [1_000_000_000, 0],
  ])('with initial count %p gets %p of the next picks', async (initialCount, share) => {
    await givePool(setup.app, 'shop', ['a', 'b']);
    await tally(setup.app, 'shop', 20);
    await setup.app.pools.put('shop', { initialCount });
    await importMembers(setup.app, 'shop', ['n']);
    expect((await setup.app.pools.getMember('shop', 'n')).assigned).toBe(0);
    expect((await tally(setup.app, 'shop', 15))['n'] ?? 0).toBe(share);
  });
});

function isPlainId(id: string): boolean {
  return id !== '__proto__' && !/\p{Cc}/u.test(id) && id.isWellFormed();
}

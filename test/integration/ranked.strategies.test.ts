import { describe, expect, test } from '@jest/globals';
import { givePool, importMembers } from '../support/selection.app.js';
import { useSelection } from '../support/use.selection.js';

const setup = useSelection();

async function pick(times: number): Promise<(string | undefined)[]> {
  const ids = [];
  for (let n = 0; n < times; n++) ids.push((await setup.app.selection.select('shop')).selection?.member.id);
  return ids;
}

async function pickBatch(count: number): Promise<string[]> {
  return (await setup.app.selection.selectBatch('shop', { count })).selections.map(({ member }) => member.id);
}

describe('least-recently-used', () => {
  const strategy = 'least-recently-used';

  test('goes to the member that was selected longest ago, those never selected first, by id', async () => {
    await givePool(setup.app, 'shop', ['c', 'a', 'b'], { strategy });
    expect(await pick(4)).toEqual(['a', 'b', 'c', 'a']);
    await importMembers(setup.app, 'shop', ['d']);
    expect(await pick(5)).toEqual(['d', 'b', 'c', 'a', 'd']);
  });

  test('gives a member that comes back one selection, not all that it missed', async () => {
    await givePool(setup.app, 'shop', ['a', 'b', 'c'], { strategy });
    await setup.app.pools.patchMember('shop', 'a', { state: 'disabled' });
    await pick(100);
    await setup.app.pools.patchMember('shop', 'a', { state: 'eligible' });
    expect(await pick(6)).toEqual(['a', 'b', 'c', 'a', 'b', 'c']);
  });

  test('in batches gives what single selections would give, also more than there are members', async () => {
    await givePool(setup.app, 'shop', ['a', 'b', 'c'], { strategy });
    expect(await pickBatch(2)).toEqual(['a', 'b']);
    expect(await pickBatch(7)).toEqual(['c', 'a', 'b', 'c', 'a', 'b', 'c']);
    expect(await pick(2)).toEqual(['a', 'b']);
    expect((await setup.app.pools.getMember('shop', 'a')).assigned).toBe(4);
  });

  test('a change of weight keeps the place in line', async () => {
    await givePool(setup.app, 'shop', ['a', 'b', 'c'], { strategy });
    await pick(1);
    await setup.app.pools.patchMember('shop', 'a', { weight: 7 });
    expect(await pick(3)).toEqual(['b', 'c', 'a']);
  });
});

describe('random', () => {
  const PICKS = 4_000;
  /** So far from what is expected that it happens less than once in a billion runs. */
  const deviations = (chance: number) => 6.5 * Math.sqrt(PICKS * chance * (1 - chance));

  test.each([
    ['single selections', pick],
    ['batches', async (times: number) => (await Promise.all([1, 2, 3, 4].map(() => pickBatch(times / 4)))).flat()],
  ])('gives each member its share by weight, and no order: %s', async (_, picks) => {
    const weights = { a: 1, b: 2, c: 5 };
    const members = Object.entries(weights).map(([id, weight]) => ({ id, weight }));
    await givePool(setup.app, 'shop', members, { strategy: 'random' });
    const ids = await picks(PICKS);
    let repeatChance = 0;
    for (const { id, weight } of members) {
      const chance = weight / 8;
      repeatChance += chance ** 2;
      const found = ids.filter((picked) => picked === id).length;
      expect(Math.abs(found - PICKS * chance)).toBeLessThan(deviations(chance));
    }
    const repeats = ids.filter((id, n) => n > 0 && id === ids[n - 1]).length;
    expect(Math.abs(repeats - PICKS * repeatChance)).toBeLessThan(2 * deviations(repeatChance));
  });

  test('two pools of the same members do not follow one another', async () => {
    const members = Array.from({ length: 20 }, (_, n) => `m${n}`);
    await givePool(setup.app, 'shop', members, { strategy: 'random' });
    await givePool(setup.app, 'mall', members, { strategy: 'random' });
    const mall = (await setup.app.selection.selectBatch('mall', { count: 40 })).selections.map(
      ({ member }) => member.id,
    );
    expect(await pickBatch(40)).not.toEqual(mall);
  });

  test('a member that comes back gets its share and no more', async () => {
    await givePool(setup.app, 'shop', ['a', 'b', 'c', 'd'], { strategy: 'random' });
    await setup.app.pools.patchMember('shop', 'a', { state: 'disabled' });
    await pickBatch(1_000);
    await setup.app.pools.patchMember('shop', 'a', { state: 'eligible' });
    const found = (await pickBatch(1_000)).filter((id) => id === 'a').length;
    expect(Math.abs(found - 250)).toBeLessThan(6.5 * Math.sqrt(1_000 * 0.25 * 0.75));
  });
});

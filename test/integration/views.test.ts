import { expect, test } from '@jest/globals';
import { importMembers } from '../support/selection.app.js';
import { useSelection } from '../support/use.selection.js';

const setup = useSelection();
const STRATEGIES = ['least-assigned', 'least-concurrency', 'least-recently-used', 'random'];

/** The entries of the views, without the names of these: what is in all of them together. */
async function viewEntries(): Promise<string[]> {
  const entries = await setup.redis.zrange('evenhand:{shop}:views', '0', '-1');
  return entries.map((entry) => entry.slice(11)).sort();
}

test.each(STRATEGIES)(
  'under %s members are in the views of their labels at the rank that they have',
  async (strategy) => {
    const { pools, selection } = setup.app;
    await pools.put('shop', { strategy, filters: [['country'], ['type', 'country']] });
    await importMembers(setup.app, 'shop', [
      { id: 'a', labels: { country: 'DE', type: 'x' } },
      { id: 'b', labels: { country: 'DE' }, weight: 3 },
      { id: 'c', labels: { type: 'x' } },
    ]);
    for (let n = 0; n < 7; n++) await selection.select('shop');
    await selection.selectBatch('shop', { count: 9 });
    const [key] = { 'least-assigned': ['counts'], 'least-concurrency': ['ready'] }[strategy] ?? ['ranks'];
    const main =
      strategy === 'random' || strategy === 'least-recently-used'
        ? `evenhand:{shop}:${strategy}:ranks`
        : `evenhand:{shop}:${strategy}:${key}`;
    const [a, b] = await Promise.all(['a', 'b'].map((id) => setup.redis.zscore(main, id)));
    const text = (rank: string | null) =>
      strategy === 'random' ? Number(rank).toFixed(12).padStart(26, '0') : String(rank).padStart(16, '0');
    expect(await viewEntries()).toEqual([`${text(a!)}a`, `${text(a!)}a`, `${text(b!)}b`].sort());
    await pools.patchMember('shop', 'a', { state: 'disabled' });
    expect(await viewEntries()).toHaveLength(1);
    await pools.patchMember('shop', 'a', { state: 'eligible', labels: { country: 'FR' } });
    expect(await viewEntries()).toHaveLength(2);
    await pools.put('shop', { filters: [['type']] });
    expect((await viewEntries()).map((entry) => entry.slice(-1))).toEqual(['c']);
    await pools.put('shop', { filters: [] });
    expect(await viewEntries()).toEqual([]);
  },
);

import { describe, expect, test } from '@jest/globals';
import { LeaseService } from '../../src/selection/leases/lease.service.js';
import type { SelectionRequest } from '../../src/selection/selection.types.js';
import { importMembers } from '../support/selection.app.js';
import { useSelection } from '../support/use.selection.js';

/** A member that comes back takes no more than its share of the next picks, whatever was asked for while it was away. */
const setup = useSelection();
const POOL = 'shop';

async function picks(times: number, requestOf: (n: number) => SelectionRequest = () => ({})) {
  const counts: Record<string, number> = {};
  for (let n = 0; n < times; n++) {
    const { selection } = await setup.app.selection.select(POOL, requestOf(n));
    const id = selection!.member.id;
    if (selection!.lease) await setup.app.context.get(LeaseService).complete(POOL, selection!.lease.id);
    counts[id] = (counts[id] ?? 0) + 1;
  }
  return counts;
}

const setState = (id: string, state: 'disabled' | 'eligible') => setup.app.pools.patchMember(POOL, id, { state });

describe.each(['least-assigned', 'least-concurrency'])('under %s', (strategy) => {
  async function fill(members: { id: string; weight?: number; labels?: Record<string, string> }[]): Promise<void> {
    await setup.app.pools.put(POOL, { strategy, filters: [['country']] });
    await importMembers(setup.app, POOL, members);
  }

  test('members of different weights', async () => {
    await fill([{ id: 'a', weight: 3 }, { id: 'b' }, { id: 'c', weight: 2 }]);
    await setState('a', 'disabled');
    await picks(300);
    await setState('a', 'eligible');
    const { a } = await picks(60);
    // Leases that are completed at once leave no load to weigh.
    expect(a).toBeLessThanOrEqual(strategy === 'least-assigned' ? 30 + 3 : 20 + 1);
    expect(a).toBeGreaterThanOrEqual(strategy === 'least-assigned' ? 30 - 3 : 20 - 1);
  });

  test('members of a label that alone was asked for', async () => {
    const countries = { a: 'DE', b: 'DE', c: 'DE', d: 'FR', e: 'FR' };
    await fill(Object.entries(countries).map(([id, country]) => ({ id, labels: { country } })));
    const inGermany = () => ({ labels: { country: 'DE' } });
    await setState('a', 'disabled');
    await picks(400, inGermany);
    await setState('a', 'eligible');
    const { a } = await picks(60, inGermany);
    expect(a).toBeGreaterThanOrEqual(19);
    expect(a).toBeLessThanOrEqual(21);
  });

  test('a member whose label has changed', async () => {
    await fill(['a', 'b', 'c'].map((id) => ({ id, labels: { country: id === 'a' ? 'FR' : 'DE' } })));
    await picks(400, () => ({ labels: { country: 'DE' } }));
    await setState('a', 'disabled');
    await setup.app.pools.patchMember(POOL, 'a', { labels: { country: 'DE' }, state: 'eligible' });
    expect((await picks(60, () => ({ labels: { country: 'DE' } })))['a']).toBeLessThanOrEqual(21);
  });

  test('sessions that moved while a member was away', async () => {
    await fill(['a', 'b', 'c'].map((id) => ({ id })));
    const sessions = (n: number) => ({ session: `s${n % 30}` });
    await picks(30, sessions);
    await setState('a', 'disabled');
    await picks(300, sessions);
    await setState('a', 'eligible');
    const kept = await picks(60, sessions);
    const fresh = await picks(30, (n) => ({ session: `new ${n}` }));
    // The sessions stay where they are; new ones make up for those, up to a third of all selections since it is back.
    expect(kept['a'] ?? 0).toBe(0);
    expect(fresh['a']).toBeLessThanOrEqual(31);
  });
});

import { expect, test } from '@jest/globals';
import { OutcomeService } from '../../src/eligibility/health/outcome.service.js';
import { importMembers } from '../support/selection.app.js';
import { useSelection } from '../support/use.selection.js';

const setup = useSelection();
/** More than are noted apart, see lua/include/descents.lua. */
const DESCENTS = 21;
const idOf = (n: number) => `m${String(n).padStart(2, '0')}`;
const FREED = Array.from({ length: DESCENTS }, (_, n) => idOf(n));
const BANNED = Array.from({ length: 10 }, (_, n) => idOf(DESCENTS + n));

async function ban(target: string, ids: readonly string[]): Promise<void> {
  const outcomes = ids.map((id) => ({ id, outcome: 'banned' as const, target }));
  await setup.app.context.get(OutcomeService).reportBatch('shop', { outcomes });
}

async function lend(target?: string) {
  const { selection } = await setup.app.selection.select('shop', target === undefined ? {} : { target });
  return { id: selection?.member.id ?? '', lease: selection?.lease?.id ?? '' };
}

/** All are lent once, so that those to be freed, of capacity 1, are full, and the others stand behind where those come back to. */
test('a cursor that has not moved for long finds who came back first of all, however many came back since', async () => {
  const { app } = setup;
  await app.pools.put('shop', { strategy: 'least-concurrency', capacity: 1 });
  await importMembers(app, 'shop', [...FREED, ...BANNED, 'z-last']);
  for (const id of [...BANNED, 'z-last']) await app.pools.patchMember('shop', id, { capacity: 900 });
  const leases: string[] = [];
  for (let n = 0; n < DESCENTS + BANNED.length + 1; n++) leases.push((await lend()).lease);
  await ban('old.example', BANNED);
  expect((await lend('old.example')).id).toBe('z-last');

  for (let n = 0; n < DESCENTS; n++) {
    await app.selection.complete('shop', leases[n]!);
    const target = `t${n}.example`;
    await ban(target, FREED.slice(0, n + 1));
    const { id, lease } = await lend(target);
    expect(BANNED).toContain(id);
    await app.selection.complete('shop', lease);
  }
  expect((await lend('old.example')).id).toBe(FREED[0]);
});

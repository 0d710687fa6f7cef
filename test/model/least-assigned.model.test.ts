import { test } from '@jest/globals';
import fc from 'fast-check';
import { useSelection } from '../support/use.selection.js';
import { IDS, operation } from './counted.operations.js';
import { CountedPool } from './counted.pool.js';

/**
 * Random operations on a real Redis, against the plain model. Each of these, taken out or turned round, made it fail (with
 * MODEL_RUNS=80; of some it takes as many):
 *
 *   narrow.lua          raising to the level; taking in the bans that have ended; `excluded`; `isRun`; isFit: the ban, the view
 *   pick.lua            the ban of the first; a cursor that there is
 *   catalogue.lua       place: `noteEntry`
 *   restore.lua         the lowest score of each view
 *   sessions.lua        the end of a session
 *   narrowed-picks.lua  keeping the member of the session
 *   merge.lua           moving the members in their views
 */
const RUNS = Number(process.env['MODEL_RUNS'] ?? 40);
const setup = useSelection();

test('whatever happens, least-assigned picks the fit member with the lowest score, and says why there is none', async () => {
  const property = fc.asyncProperty(
    fc.array(operation, { minLength: 20, maxLength: 50, size: 'max' }),
    async (operations) => {
      await setup.redis.flushall();
      await setup.app.pools.put('shop', { strategy: 'least-assigned' });
      const pool = new CountedPool(setup);
      await pool.apply({ kind: 'filters', filters: [['country'], ['country', 'tier']] });
      await pool.apply({ kind: 'import', ids: IDS.slice(0, 3), weight: 1, labels: { country: 'DE', tier: 'x' } });
      await pool.apply({ kind: 'import', ids: IDS.slice(3, 6), weight: 1, labels: { country: 'FR' } });
      for (const each of operations) {
        await pool.apply(each);
        await pool.check();
      }
    },
  );
  await fc.assert(property, { numRuns: RUNS, endOnFailure: true });
}, 240_000);

import { Checks } from '../../support/checks.mjs';
import { interleave } from '../../support/rounds.mjs';
import { fillPool } from '../../support/selection.host.mjs';
import { ban, idsOf } from './bans.mjs';
import { costOf, cycle, selectMany } from './cost.mjs';
import { toRow } from './labels.mjs';

const ROUNDS = 11;
const MEMBERS = 10_000;
const TARGET = 'shop.example';
const STRATEGIES = [
  { strategy: 'least-assigned', picks: 1_000_000, batch: 1_000 },
  { strategy: 'least-concurrency', picks: 1_000_000, batch: 200 },
];
/** The last picks cost what the first ones cost, but for noise. */
const LAST_OF_FIRST = 1.3;

/** A target at which half of 10,000 members are banned, and which makes all of the traffic. */
export async function measureOneTarget({ redis: { client }, host, rounds }) {
  const checks = new Checks();
  const rows = [];
  for (const { strategy, picks, batch } of STRATEGIES) {
    const pools = ['plain', 'first', 'last'].map((name) => `${name}-${strategy}-target`);
    for (const pool of pools) await fillPool(host, pool, MEMBERS, { strategy });
    const [plain, first, last] = pools;
    const half = (await idsOf(client, first)).filter((_, n) => n % 2 === 0);
    for (const pool of [first, last]) await ban(client, pool, TARGET, half);
    const moment = `the last of ${picks.toLocaleString('en')}`;
    await selectMany(host, last, picks, batch, { target: TARGET });
    const contestants = {
      plain: () => costOf(client, cycle(host, plain)),
      'the first': () => costOf(client, cycle(host, first, { target: TARGET })),
      [moment]: () => costOf(client, cycle(host, last, { target: TARGET })),
    };
    const found = await interleave(contestants, rounds(ROUNDS));
    rows.push(toRow({ strategy, name: 'the first', moment: '', found, checks, bound: null }));
    rows.push(toRow({ strategy, name: moment, moment: '', found, checks, bound: null }));
    rows.push({
      ...toRow({
        strategy,
        name: moment,
        moment: 'of the first',
        found,
        checks,
        base: 'the first',
        bound: LAST_OF_FIRST,
      }),
      asked: `${moment}, of the first`,
    });
  }
  const title = `narrow: one target, half of ${MEMBERS.toLocaleString('en')} members banned`;
  return { table: { title, rows: rows.map(({ moment: _moment, ...row }) => row) }, checks: checks.list };
}

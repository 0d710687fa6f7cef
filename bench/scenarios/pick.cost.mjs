import { Checks } from '../support/checks.mjs';
import { bareCycle } from '../support/lease.contestants.mjs';
import { commandStats } from '../support/redis.process.mjs';
import { interleave, median, microsecondsPerCall, ratios } from '../support/rounds.mjs';
import { selectScript } from '../support/select.script.mjs';
import { fillPool } from '../support/selection.host.mjs';

const ROUNDS = 21;
const CALLS = 2_000;
const IN_FLIGHT = 16;
const PICKS = {
  ...{ strategy: 'least-assigned', sizes: [10, 1_000, 100_000, 1_000_000], scripts: 1, bound: 1.6, what: 'a pick' },
  open: async (client, pool) => (await selectScript(client, pool)).call,
};
const LEASES = {
  ...{ strategy: 'least-concurrency', sizes: [10, 1_000, 100_000], scripts: 2, what: 'acquire and complete' },
  open: bareCycle,
};

export const title = 'What a pick, and a lease, costs Redis itself: the time of the single scripts as Redis counts it';

export async function run({ redis, host, rounds }) {
  const checks = new Checks();
  const tables = [];
  for (const kind of [PICKS, LEASES]) {
    const contestants = {};
    for (const size of kind.sizes) {
      const pool = `${kind.strategy}-${size}`;
      await fillPool(host, pool, size, { strategy: kind.strategy });
      const call = await kind.open(redis.client, pool);
      contestants[size] = () => costOf(redis.client, call, kind.scripts);
    }
    const found = await interleave(contestants, rounds(ROUNDS));
    tables.push({
      title: `pick.cost: microseconds of Redis for ${kind.what}, ${rounds(ROUNDS)} rounds of ${CALLS.toLocaleString('en')}, in turn`,
      rows: kind.sizes.map((size) => toRow(kind, size, found, checks)),
    });
  }
  return { tables, checks: checks.list };
}

/** Microseconds of Redis for one call, which is so many scripts. */
async function costOf(client, call, scripts) {
  const before = await commandStats(client, 'evalsha');
  await microsecondsPerCall(call, CALLS, IN_FLIGHT);
  const after = await commandStats(client, 'evalsha');
  // The module itself looks twice a second whether a lease is due; now and then a lease takes a script more to register that.
  const more = after.calls - before.calls - CALLS * scripts;
  if (more < 0 || more > CALLS / 50) throw new Error(`${CALLS} calls were ${after.calls - before.calls} scripts.`);
  return ((after.usec - before.usec) * scripts) / (after.calls - before.calls);
}

function toRow({ sizes, bound, what }, size, found, checks) {
  const { ratio, span } = ratios(found[size], found[sizes[0]]);
  const isBound = bound !== undefined && size === sizes.at(-1);
  return {
    members: size,
    'redis us': median(found[size]),
    'of 10': ratio,
    'middle half': span,
    required: checks.atMost(
      `${what} of ${size.toLocaleString('en')} members, of 10`,
      ratio,
      isBound ? bound : undefined,
    ),
  };
}

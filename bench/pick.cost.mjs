// What one pick costs Redis itself, from pools of ten members to a million: the time of the script, as Redis counts it.
import { commandStats, startRedis } from './support/redis.process.mjs';
import { interleave, median, microsecondsPerCall, ratios } from './support/rounds.mjs';
import { fillPool, startHost } from './support/selection.host.mjs';
import { printTable, verdict } from './support/table.mjs';

const SIZES = [10, 1_000, 100_000, 1_000_000];
const ROUNDS = 21;
const CALLS = 2_000;
const IN_FLIGHT = 16;
const MAX_RATIO = 2;

const redis = await startRedis();
const host = await startHost(redis.url);
try {
  for (const size of SIZES) await fillPool(host, poolOf(size), size);
  const contestants = Object.fromEntries(SIZES.map((size) => [`size ${size}`, () => costOfPick(poolOf(size))]));
  await interleave(contestants, 3);
  const found = await interleave(contestants, ROUNDS);
  const fewest = found[`size ${SIZES[0]}`];
  const rows = SIZES.map((size) => {
    const costs = found[`size ${size}`];
    const { ratio, span } = ratios(costs, fewest);
    const required = size === SIZES.at(-1) ? verdict(ratio, MAX_RATIO) : '';
    return [size.toLocaleString('en'), median(costs).toFixed(2), ratio.toFixed(2), span, required];
  });
  printTable(
    `pick.cost: microseconds of Redis for one pick, ${ROUNDS} rounds of ${CALLS} picks a pool, in turn`,
    ['members', 'us a pick', 'ratio to 10', 'middle half', 'required'],
    rows,
  );
} finally {
  await host.close();
  await redis.stop();
}

function poolOf(size) {
  return `of-${size}`;
}

async function costOfPick(pool) {
  const before = await commandStats(redis.client, 'evalsha');
  await microsecondsPerCall(() => host.selection.select(pool), CALLS, IN_FLIGHT);
  const after = await commandStats(redis.client, 'evalsha');
  // The module itself looks twice a second whether a lease is due.
  const more = after.calls - before.calls - CALLS;
  if (more < 0 || more > CALLS / 100) throw new Error('A pick was not exactly one script.');
  return (after.usec - before.usec) / (CALLS + more);
}

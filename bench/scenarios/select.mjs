import { Checks } from '../support/checks.mjs';
import { redisBenchmark } from '../support/redis.benchmark.mjs';
import { interleave, median, microsecondsPerCall, perSecond, ratios } from '../support/rounds.mjs';
import { selectScript } from '../support/select.script.mjs';
import { fillPool } from '../support/selection.host.mjs';

const POOL = 'shop';
const MEMBERS = 1_000;
const ROUNDS = 31;
const LOADS = [
  { callers: 1, calls: 1_500, bound: 0.95 },
  { callers: 8, calls: 4_000, bound: 0.95 },
  { callers: 64, calls: 10_000, bound: 2.5 },
  { callers: 512, calls: 20_000, bound: 4 },
];
const CEILING_ROUNDS = 5;
const CEILING_CALLS = 100_000;

export const title = 'SelectionService.select against EVALSHA of the same script by a bare ioredis client';

export async function run({ redis, host, rounds }) {
  await fillPool(host, POOL, MEMBERS);
  const bare = await selectScript(redis.client, POOL);
  const calls = {
    bare: bare.call,
    // The connection that the module opens: what its settings cost.
    module: (await selectScript(host.client, POOL)).call,
    select: () => host.selection.select(POOL),
  };
  const checks = new Checks();
  const rows = [];
  for (const load of LOADS) rows.push(toRow(load, await measure(calls, load, rounds(ROUNDS)), checks));
  const selections = {
    title: `select: selections a second, pool of ${MEMBERS.toLocaleString('en')} members, ${rounds(ROUNDS)} rounds in turn`,
    rows,
  };
  return { tables: [selections, await ceiling(redis, bare, rounds(CEILING_ROUNDS))], checks: checks.list };
}

function measure(calls, { callers, calls: count }, rounds) {
  const contestants = Object.entries(calls).map(([name, call]) => [
    name,
    () => microsecondsPerCall(call, count, callers),
  ]);
  return interleave(Object.fromEntries(contestants), rounds);
}

function toRow({ callers, bound }, found, checks) {
  const { ratio, span } = ratios(found.bare, found.select);
  return {
    callers,
    'bare/s': perSecond(found.bare),
    'select/s': perSecond(found.select),
    'select us': median(found.select),
    'of bare': ratio,
    'middle half': span,
    'module client, of bare': ratios(found.bare, found.module).ratio,
    required: checks.atLeast(`select, of bare ioredis, ${callers} in flight`, ratio, bound),
  };
}

/** What Redis does at most when no JavaScript is in the way, next to ioredis: for orientation. */
async function ceiling({ port }, { call, command }, rounds) {
  const clients = 64;
  const raw = (pipeline) => () => redisBenchmark(port, { calls: CEILING_CALLS, clients, pipeline }, command);
  const contestants = {
    'bare ioredis, one connection': () => microsecondsPerCall(call, CEILING_CALLS / 5, clients),
    'redis-benchmark, 64 connections': raw(1),
    'redis-benchmark -P 16': raw(16),
  };
  const found = await interleave(contestants, rounds);
  const [bare] = Object.values(found);
  const rows = Object.entries(found).map(([name, us]) => ({
    [`${clients} callers`]: name,
    'calls/s': perSecond(us),
    'of bare': ratios(bare, us).ratio,
  }));
  return { title: `select: the same script by redis-benchmark, ${rounds} rounds in turn`, rows };
}

import { evenhandCycle } from '../../support/lease.contestants.mjs';
import { interleave, microsecondsPerCall, perSecond, ratios } from '../../support/rounds.mjs';
import { fillPool, startHost } from '../../support/selection.host.mjs';

const CALLERS = [1, 8, 64, 512];
const ROUNDS = 7;
/** Calls a round: few where only one is under way at a time. */
const CALLS = { 1: 500, 8: 2_000, 64: 6_000, 512: 10_000 };
const SELECT = {
  ...{ title: 'selections', strategy: 'least-assigned', sizes: [10, 1_000, 100_000, 1_000_000] },
  open: (host, pool) => () => host.selection.select(pool),
};
const LEASE = {
  ...{ title: 'lease cycles', strategy: 'least-concurrency', sizes: [10, 1_000, 100_000] },
  open: evenhandCycle,
};
const POOLS = { count: 10_000, members: 10, callers: [64, 512], madeAtOnce: 32 };

/** The pool of so many members that the parts of this scenario share. */
export function poolOf(strategy, size) {
  return `${strategy}-${size}`;
}

export async function measureThroughput(context) {
  return [await matrix(context, SELECT), await matrix(context, LEASE), await manyPools(context)];
}

/** A row for each number of callers, a column for each number of members. */
async function matrix({ host, rounds }, { title, strategy, sizes, open }) {
  for (const size of sizes) await fillPool(host, poolOf(strategy, size), size, { strategy });
  const rows = [];
  for (const callers of CALLERS) {
    const contestants = sizes.map((size) => {
      const call = open(host, poolOf(strategy, size));
      return [size, () => microsecondsPerCall(call, CALLS[callers], callers)];
    });
    const found = await interleave(Object.fromEntries(contestants), rounds(ROUNDS));
    const row = { callers };
    for (const size of sizes) row[`${size.toLocaleString('en')} members`] = perSecond(found[size]);
    row['most of fewest'] = ratios(found[sizes[0]], found[sizes.at(-1)]).ratio;
    rows.push(row);
  }
  return { title: `scale: ${title} a second, ${rounds(ROUNDS)} rounds in turn`, rows };
}

async function manyPools({ redis, host, rounds }) {
  const { count, members, callers } = POOLS;
  const names = Array.from({ length: count }, (_, n) => `many-${n}`);
  await makePools(host, names);
  // A host of its own, which remembers these pools and no others.
  const fresh = await startHost(redis.url);
  const rows = [];
  for (const inFlight of callers) {
    const contestants = {
      one: () => microsecondsPerCall(() => fresh.selection.select(names[0]), count, inFlight),
      many: () => microsecondsPerCall(inTurn(fresh, names), count, inFlight),
    };
    const found = await interleave(contestants, rounds(ROUNDS));
    rows.push({
      callers: inFlight,
      '1 pool': perSecond(found.one),
      [`${count.toLocaleString('en')} pools`]: perSecond(found.many),
      'many of one': ratios(found.one, found.many).ratio,
    });
  }
  await fresh.close();
  return { title: `scale: selections a second, pools of ${members} members in turn`, rows };
}

/** Each call selects from the next pool, so that no two calls of one turn can go out together. */
function inTurn({ selection }, names) {
  let turn = 0;
  return () => selection.select(names[turn++ % names.length]);
}

async function makePools(host, names) {
  const left = [...names];
  const makeSome = async () => {
    for (let name = left.pop(); name !== undefined; name = left.pop()) await fillPool(host, name, POOLS.members);
  };
  await Promise.all(Array.from({ length: POOLS.madeAtOnce }, makeSome));
}

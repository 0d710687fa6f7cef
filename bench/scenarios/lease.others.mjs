// Other libraries that hand out slots, locks or jobs with Redis. Each has as many slots as the pool has members, more than
// there are callers: none of them ever finds all slots taken, which would make it wait and try again.
import { Checks } from '../support/checks.mjs';
import { startContestant } from '../support/lease.process.mjs';
import { interleave, perSecond, ratios } from '../support/rounds.mjs';
import { fillPool } from '../support/selection.host.mjs';

const POOL = 'shop';
const SLOTS = 1_000;
const ROUNDS = 15;
const LOCKS = ['redis-semaphore', 'redlock'];
const JOBS = ['bottleneck', 'bullmq'];
/** Cycles a round: those of jobs are so slow that fewer have to do. */
const LOADS = [
  { callers: 64, cycles: { locks: 10_000, jobs: 500 }, bounds: { locks: 2.5, jobs: 10 } },
  { callers: 512, cycles: { locks: 20_000 }, bounds: { locks: 3 } },
];

export const title = 'Select and complete against redis-semaphore, redlock, bottleneck and bullmq';

export async function run({ redis, host, rounds, profileArgs }) {
  await fillPool(host, POOL, SLOTS, { strategy: 'least-concurrency' });
  const names = ['evenhand', ...LOCKS, ...JOBS];
  const start = async (name) => [name, await startContestant([name, redis.url, POOL, SLOTS], profileArgs(name))];
  const contestants = Object.fromEntries(await Promise.all(names.map(start)));
  const checks = new Checks();
  const tables = [];
  try {
    for (const load of LOADS) tables.push(await compare(load, contestants, rounds(ROUNDS), checks));
  } finally {
    await Promise.all(Object.values(contestants).map(({ stop }) => stop()));
  }
  return { tables, checks: checks.list };
}

async function compare({ callers, cycles, bounds }, contestants, rounds, checks) {
  const others = [...LOCKS, ...(cycles.jobs ? JOBS : [])];
  const measured = ['evenhand', ...others].map((name) => {
    const count = JOBS.includes(name) ? cycles.jobs : cycles.locks;
    return [name, () => contestants[name].run(count, callers)];
  });
  const found = await interleave(Object.fromEntries(measured), rounds);
  const against = Object.fromEntries(others.map((name) => [name, ratios(found[name], found.evenhand)]));
  const fastest = LOCKS.reduce((a, b) => (against[a].ratio < against[b].ratio ? a : b));
  const rows = others.map((name) => {
    const { ratio, span } = against[name];
    const bound = JOBS.includes(name) ? bounds.jobs : name === fastest ? bounds.locks : undefined;
    return {
      library: name,
      'cycles/s': perSecond(found[name]),
      'evenhand/s': perSecond(found.evenhand),
      'evenhand to it': ratio,
      'middle half': span,
      required: checks.atLeast(`lease cycle, of ${name}, ${callers} in flight`, ratio, bound),
    };
  });
  const title = `lease.others: ${callers} callers, ${SLOTS.toLocaleString('en')} slots each, a process each, ${rounds} rounds in turn`;
  return { title, rows };
}

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
const OWN_CYCLES = 15_000;
/** Cycles a round: those of jobs are so slow that fewer have to do. */
const LOADS = [
  { callers: 64, others: LOCKS, cycles: 10_000, bound: 2.5 },
  { callers: 512, others: LOCKS, cycles: 20_000, bound: 3 },
  { callers: 64, others: JOBS, cycles: 500, bound: 10 },
];

export const title = 'Select and complete against redis-semaphore, redlock, bottleneck and bullmq';

export async function run({ redis, host, rounds, profileArgs }) {
  await fillPool(host, POOL, SLOTS, { strategy: 'least-concurrency' });
  const checks = new Checks();
  const tables = [];
  for (const load of LOADS) {
    // Only those that are compared: the worker of a queue that has nothing to do is not idle.
    const start = (name) => startContestant([name, redis.url, POOL, SLOTS], profileArgs(`${name}.${load.callers}`));
    const names = ['evenhand', ...load.others];
    const processes = await Promise.all(names.map(start));
    try {
      const contestants = Object.fromEntries(names.map((name, n) => [name, processes[n]]));
      tables.push(await compare(load, contestants, rounds(ROUNDS), checks));
    } finally {
      await Promise.all(processes.map(({ stop }) => stop()));
    }
  }
  return { tables, checks: checks.list };
}

async function compare({ callers, others, cycles, bound }, contestants, rounds, checks) {
  const measured = ['evenhand', ...others].map((name) => {
    const count = name === 'evenhand' ? OWN_CYCLES : cycles;
    return [name, () => contestants[name].run(count, callers)];
  });
  const found = await interleave(Object.fromEntries(measured), rounds);
  const against = Object.fromEntries(others.map((name) => [name, ratios(found[name], found.evenhand)]));
  const fastest = others.reduce((a, b) => (against[a].ratio < against[b].ratio ? a : b));
  const rows = others.map((name) => {
    const { ratio, span } = against[name];
    return {
      library: name,
      'cycles/s': perSecond(found[name]),
      'evenhand/s': perSecond(found.evenhand),
      'evenhand to it': ratio,
      'middle half': span,
      required: checks.atLeast(
        `lease cycle, of ${name}, ${callers} in flight`,
        ratio,
        name === fastest ? bound : undefined,
      ),
    };
  });
  const title = `lease.others: ${callers} callers, ${SLOTS.toLocaleString('en')} slots each, a process each, ${rounds} rounds in turn`;
  return { title, rows };
}

// What a lease costs: select and complete by SelectionService, against a bare client that runs the same two scripts, and
// against other libraries that hand out slots, locks or jobs with Redis. Each has as many slots as the pool has members.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { bareCycle, evenhandCycle } from './support/lease.contestants.mjs';
import { startRedis } from './support/redis.process.mjs';
import { interleave, median, microsecondsPerCall, ratios } from './support/rounds.mjs';
import { fillPool, startHost } from './support/selection.host.mjs';
import { printTable } from './support/table.mjs';

const POOL = 'shop';
const MEMBERS = 100;
const ROUNDS = 21;
const WARM_UP_ROUNDS = 3;
const CYCLES = 1_000;
const IN_FLIGHT = 64;
/** The least part of a bare client's speed at one call in flight. */
const OF_BARE = 0.9;

/** How many cycles each makes in a round: about as many as it makes in a fifth of a second. */
const OTHERS = { 'redis-semaphore': 6_000, redlock: 6_000, bottleneck: 400, bullmq: 500 };
const EVENHAND_CYCLES = 6_000;

const redis = await startRedis();
const host = await startHost(redis.url);
try {
  await host.pools.put(POOL, { strategy: 'least-concurrency' });
  await fillPool(host, POOL, MEMBERS);
  await compareWithBare();
  await compareWithOthers();
} finally {
  await host.close();
  await redis.stop();
}

async function compareWithBare() {
  const cycles = { bare: await bareCycle(redis.client, POOL), evenhand: evenhandCycle(host, POOL) };
  const rows = [];
  for (const inFlight of [1, IN_FLIGHT]) {
    const found = await measure(cycles, inFlight);
    const { ratio, span } = ratios(found.bare, found.evenhand);
    const speeds = [found.bare, found.evenhand].map(cyclesASecond);
    rows.push([inFlight, ...speeds, ratio.toFixed(3), span, inFlight === 1 ? atLeast(ratio, OF_BARE) : '']);
  }
  printTable(
    `lease: acquire and complete, against bare EVALSHA of the same scripts; ${describeRounds()}`,
    ['in flight', 'bare/s', 'evenhand/s', 'of bare', 'middle half', 'required'],
    rows,
  );
}

async function compareWithOthers() {
  const processes = await Promise.all(['evenhand', ...Object.keys(OTHERS)].map(startProcess));
  try {
    const counts = [EVENHAND_CYCLES, ...Object.values(OTHERS)];
    const contestants = Object.fromEntries(
      processes.map(({ name, run }, n) => [name, () => run(counts[n], IN_FLIGHT)]),
    );
    await interleave(contestants, WARM_UP_ROUNDS);
    const found = await interleave(contestants, ROUNDS);
    const rows = Object.keys(OTHERS).map((name) => {
      const { ratio, span } = ratios(found[name], found.evenhand);
      return [
        name,
        cyclesASecond(found[name]),
        cyclesASecond(found.evenhand),
        ratio.toFixed(2),
        span,
        atLeast(ratio, 1),
      ];
    });
    printTable(
      `lease: against other libraries, each in a process of its own; ${IN_FLIGHT} in flight, ${MEMBERS} slots each, ${ROUNDS} rounds in turn`,
      ['library', 'cycles/s', 'evenhand/s', 'evenhand to it', 'middle half', 'required'],
      rows,
    );
  } finally {
    for (const { stop } of processes) stop();
  }
}

async function startProcess(name) {
  const child = fork(fileURLToPath(new URL('support/lease.process.mjs', import.meta.url)), [
    name,
    redis.url,
    POOL,
    MEMBERS,
  ]);
  await once(child, 'message');
  return {
    name,
    run: async (cycles, inFlight) => {
      child.send({ cycles, inFlight });
      const [microseconds] = await once(child, 'message');
      return microseconds;
    },
    stop: () => child.disconnect(),
  };
}

async function measure(cycles, inFlight) {
  const contestants = Object.fromEntries(
    Object.entries(cycles).map(([name, cycle]) => [name, () => microsecondsPerCall(cycle, CYCLES, inFlight)]),
  );
  await interleave(contestants, WARM_UP_ROUNDS);
  return interleave(contestants, ROUNDS);
}

function describeRounds() {
  return `${ROUNDS} rounds of ${CYCLES} cycles each, in turn`;
}

function cyclesASecond(microseconds) {
  return Math.round(1_000_000 / median(microseconds)).toLocaleString('en');
}

function atLeast(value, bound) {
  return value >= bound ? `>= ${bound}: met` : `>= ${bound}: MISSED`;
}

// What a lease costs: select and complete by SelectionService, against a bare client that runs the same two scripts, and
// against other libraries that hand out slots, locks or jobs with Redis. Each has as many slots as the pool has members.
import {
  bareCycle,
  bottleneckCycle,
  bullmqCycle,
  evenhandCycle,
  openClient,
  redlockCycle,
  semaphoreCycle,
} from './support/lease.contestants.mjs';
import { startRedis } from './support/redis.process.mjs';
import { interleave, median, microsecondsPerCall, ratios } from './support/rounds.mjs';
import { fillPool, startHost } from './support/selection.host.mjs';
import { printTable } from './support/table.mjs';

const POOL = 'shop';
const MEMBERS = 100;
const ROUNDS = 21;
const WARM_UP_ROUNDS = 3;
const CYCLES = 1_000;
const LONG_CYCLES = 6_000;
const IN_FLIGHT = 64;
/** The least part of a bare client's speed at one call in flight. */
const OF_BARE = 0.9;

const redis = await startRedis();
const host = await startHost(redis.url);
const clients = [];
try {
  await host.pools.put(POOL, { strategy: 'least-concurrency' });
  await fillPool(host, POOL, MEMBERS);
  await compareWithBare();
  await compareWithOthers();
} finally {
  for (const client of clients) client.disconnect();
  await host.close();
  await redis.stop();
}

async function client() {
  const opened = await openClient(redis.url);
  clients.push(opened);
  return opened;
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

/** Those of about the same speed meet each other in long rounds; those that are far slower come after them, in short ones. */
async function compareWithOthers() {
  const evenhand = evenhandCycle(host, POOL);
  const fast = {
    'redis-semaphore': semaphoreCycle(await client(), MEMBERS),
    redlock: redlockCycle(await client(), MEMBERS),
  };
  const rows = rowsOf(await measure({ evenhand, ...fast }, IN_FLIGHT, LONG_CYCLES));
  const bottleneck = await bottleneckCycle(redis.url, MEMBERS);
  const bullmq = await bullmqCycle(redis.url, MEMBERS);
  try {
    const slow = { bottleneck: bottleneck.cycle, bullmq: bullmq.cycle };
    rows.push(...rowsOf(await measure({ evenhand, ...slow }, IN_FLIGHT, CYCLES)));
  } finally {
    await bottleneck.close();
    await bullmq.close();
  }
  printTable(
    `lease: against other libraries, ${IN_FLIGHT} in flight, ${MEMBERS} slots each; ${ROUNDS} rounds of ${LONG_CYCLES} cycles each, ${CYCLES} for the last two`,
    ['library', 'cycles/s', 'evenhand/s', 'evenhand to it', 'middle half', 'required'],
    rows,
  );
}

function rowsOf({ evenhand, ...others }) {
  return Object.entries(others).map(([name, found]) => {
    const { ratio, span } = ratios(found, evenhand);
    return [name, cyclesASecond(found), cyclesASecond(evenhand), ratio.toFixed(2), span, atLeast(ratio, 1)];
  });
}

async function measure(cycles, inFlight, count = CYCLES) {
  const contestants = Object.fromEntries(
    Object.entries(cycles).map(([name, cycle]) => [name, () => microsecondsPerCall(cycle, count, inFlight)]),
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

import { setTimeout as sleep } from 'node:timers/promises';
import { Checks } from '../../support/checks.mjs';
import { bareCycle, evenhandCycle } from '../../support/lease.contestants.mjs';
import { startRedis } from '../../support/redis.process.mjs';
import { median, microsecondsPerCall } from '../../support/rounds.mjs';
import { fillPool, proxyList, startHost } from '../../support/selection.host.mjs';
import { describeLongest, longestOf, openSlowLog } from '../../support/slow.log.mjs';
import { poolOf } from './throughput.mjs';

const CALLERS = 512;
const CALLS = 10_000;
const MILLION = poolOf('least-assigned', 1_000_000);
const HUNDRED_THOUSAND = poolOf('least-concurrency', 100_000);
const IMPORTED = 100_000;
/** Passing scripts settle so many expired leases each, the steps of what is due so many. */
const IN_PASSING = 16;
const STEP = 100;
const EXPIRING = 1_600;
const TTL_MS = 1_000;
const DEADLINE_MS = 10_000;
const ROUNDS = 7;

/** The longest time that one script held Redis, for each kind of work: the median of the rounds' maxima. */
export async function measureLongest({ redis, host, rounds }) {
  const works = [
    // Nothing to do with what it does: so long the server did not run at all.
    { name: `an empty script, ${CALLERS} callers`, ...ordinary(redis, () => emptyScripts(redis)) },
    { name: `selections, ${CALLERS} callers, of a million`, ...ordinary(redis, () => selections(host)) },
    { name: 'a batch of 1,000 of a million', ...ordinary(redis, () => batches(host)), atMost: 5 },
    { name: `lease cycles, ${CALLERS} callers, of 100,000`, ...ordinary(redis, () => cycles(host)), atMost: 1 },
    { name: `settling ${IN_PASSING} expired leases in passing`, measure: settleInPassing },
    { name: `settling expired leases, ${STEP} a step`, measure: settleInSteps },
    { name: 'a step of an import', ...ordinary(redis, () => importSome(host)) },
  ];
  await openSlowLog(redis.client);
  const checks = new Checks();
  const rows = [];
  for (const { name, measure, atMost } of works) {
    const longest = [];
    for (let n = 0; n < rounds(ROUNDS); n++) longest.push(await measure());
    const ms = median(longest);
    const required = checks.atMost(`longest script, ms: ${name}`, ms, atMost);
    rows.push({
      of: name,
      'longest ms': describeLongest(ms),
      'of all': describeLongest(Math.max(...longest)),
      required,
    });
  }
  const title = `scale: the longest that one script held Redis, as the median of ${rounds(ROUNDS)} rounds and of all`;
  return { table: { title, rows }, checks: checks.list };
}

function ordinary({ client }, work) {
  return { measure: () => longestOf(client, work) };
}

function emptyScripts({ client }) {
  return microsecondsPerCall(() => client.eval('return 1', 0), CALLS, CALLERS);
}

function selections({ selection }) {
  return microsecondsPerCall(() => selection.select(MILLION), CALLS, CALLERS);
}

function batches({ selection }) {
  return microsecondsPerCall(() => selection.selectBatch(MILLION, { count: 1_000 }), 50);
}

function cycles(host) {
  return microsecondsPerCall(evenhandCycle(host, HUNDRED_THOUSAND), CALLS, CALLERS);
}

async function importSome({ pools }) {
  await pools.put('imported');
  await pools.importMembers('imported', { format: 'text', body: proxyList(IMPORTED) });
  await pools.delete('imported');
}

/** With nobody there who looks at what is due, whoever acquires or completes settles some. */
async function settleInPassing() {
  return withExpiring(async ({ client }, host, pool) => {
    const cycle = await bareCycle(client, pool);
    await host.close();
    await sleep(TTL_MS * 1.2);
    return longestOf(client, () => microsecondsPerCall(cycle, EXPIRING / IN_PASSING));
  });
}

/** With a host that looks at what is due, and nothing else going on. */
async function settleInSteps() {
  return withExpiring(async ({ client }, host, pool) => {
    const longest = await longestOf(client, () => untilSettled(host, pool));
    await host.close();
    return longest;
  });
}

/** On a server of its own, where no other host meddles. */
async function withExpiring(work) {
  const redis = await startRedis();
  try {
    await openSlowLog(redis.client);
    const host = await startHost(redis.url);
    await fillPool(host, 'expiring', 1_000, { strategy: 'least-concurrency' });
    const acquire = () => host.selection.selectBatch('expiring', { count: STEP, ttlMs: TTL_MS });
    await microsecondsPerCall(acquire, EXPIRING / STEP);
    return await work(redis, host, 'expiring');
  } finally {
    await redis.stop();
  }
}

async function untilSettled({ pools }, pool) {
  const deadline = performance.now() + DEADLINE_MS;
  while ((await pools.get(pool)).inFlight > 0) {
    if (performance.now() > deadline) throw new Error('The expired leases were not settled.');
    await sleep(20);
  }
}

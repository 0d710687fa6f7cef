// What one selection of a batch costs, against single ones: for the caller, and for Redis.
import { commandStats, startRedis } from './support/redis.process.mjs';
import { interleave, median, microsecondsPerCall, ratios } from './support/rounds.mjs';
import { fillPool, startHost } from './support/selection.host.mjs';
import { printTable } from './support/table.mjs';

const POOL = 'shop';
const MEMBERS = 10_000;
const COUNTS = [1, 10, 100, 1_000];
const ROUNDS = 15;
/** Selections a round, whatever the size of the batches. */
const SELECTIONS = 2_000;

const redis = await startRedis();
const host = await startHost(redis.url);
try {
  await fillPool(host, POOL, MEMBERS);
  const contestants = Object.fromEntries(COUNTS.map((count) => [`batches of ${count}`, () => measure(count)]));
  await interleave(contestants, 3);
  const found = await interleave(contestants, ROUNDS);
  printTable(
    `batch: microseconds a selection, ${ROUNDS} rounds of ${SELECTIONS} selections each, in turn, one call in flight`,
    ['selections a call', 'caller us', 'ratio to 1', 'Redis us', 'ratio to 1'],
    COUNTS.map((count) => toRow(count, found)),
  );
} finally {
  await host.close();
  await redis.stop();
}

async function measure(count) {
  const calls = SELECTIONS / count;
  const call = count === 1 ? () => host.selection.select(POOL) : () => host.selection.selectBatch(POOL, { count });
  const before = await commandStats(redis.client, 'evalsha');
  const callerUs = (await microsecondsPerCall(call, calls)) / count;
  const after = await commandStats(redis.client, 'evalsha');
  return { callerUs, redisUs: (after.usec - before.usec) / SELECTIONS };
}

function toRow(count, found) {
  const row = [count.toLocaleString('en')];
  for (const measure of ['callerUs', 'redisUs']) {
    const numbers = found[`batches of ${count}`].map((result) => result[measure]);
    const single = found['batches of 1'].map((result) => result[measure]);
    row.push(median(numbers).toFixed(2), ratios(numbers, single).ratio.toFixed(3));
  }
  return row;
}

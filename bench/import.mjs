// An import of a long list against a bare pipelined write of the same keys, and how long it holds Redis at a time.
import { startRedis } from './support/redis.process.mjs';
import { elapsed, median, ratios } from './support/rounds.mjs';
import { proxyList, startHost } from './support/selection.host.mjs';
import { printTable, verdict } from './support/table.mjs';

const LINES = 100_000;
const POOL = 'shop';
const KEYS = `evenhand:{${POOL}}`;
const ROUNDS = 5;
/** The record of a member that has nothing but its id. */
const RECORD = '1 - 0\n\n';
/** Members in one pipeline of a bare write. */
const STEP = 1_000;
const MAX_RATIO = 5;
const MAX_SCRIPT_MS = 20;
const SLOWLOG_FROM_US = 1_000;

const redis = await startRedis();
const host = await startHost(redis.url);
const list = proxyList(LINES);
const found = [];
const ids = list.split('\n').map((address) => `http://${address}`);
try {
  await redis.client.config('SET', 'slowlog-log-slower-than', SLOWLOG_FROM_US, 'slowlog-max-len', 100_000);
  for (let n = 0; n < ROUNDS; n++) found.push(await round());
  printTable(
    `import: ${LINES.toLocaleString('en')} lines, ${ROUNDS} rounds; the longest script as the median of the rounds and of all`,
    ['', 'ms', 'ratio to bare', 'middle half', 'required', 'longest ms', 'of all', 'required'],
    [
      ['bare write, pipelined', 'bare'],
      ['bare write, a thousand a command', 'variadic'],
      ['import into an empty pool', 'first', MAX_RATIO],
      ['the same import again', 'again'],
      ['replaced by another list', 'replaced'],
    ].map(toRow),
  );
} finally {
  await host.close();
  await redis.stop();
}

/** One after the other, each with what the one before left. */
async function round() {
  const results = { bare: await fresh(writePipelined), variadic: await fresh(writeVariadic) };
  results.first = await fresh(() => importList(list, 'merge'));
  results.again = await measured(() => importList(list, 'merge'));
  results.replaced = await measured(() => importList(list.replaceAll(/^/gm, 'socks5://'), 'replace'));
  return results;
}

/** The keys that an import writes, with what it writes into them, a command for each. */
async function writePipelined() {
  for (const step of steps()) {
    const pipeline = redis.client.pipeline();
    for (const id of step) {
      pipeline.hset(`${KEYS}:members`, id, RECORD);
      pipeline.zadd(`${KEYS}:eligible`, 0, id);
      pipeline.zadd(`${KEYS}:least-assigned:counts`, 0, id);
    }
    await pipeline.exec();
  }
}

/** The same with one command for a thousand members, which no import that looks at each member can do. */
async function writeVariadic() {
  for (const step of steps()) {
    const pipeline = redis.client.pipeline();
    pipeline.hset(`${KEYS}:members`, ...step.flatMap((id) => [id, RECORD]));
    pipeline.zadd(`${KEYS}:eligible`, ...step.flatMap((id) => [0, id]));
    pipeline.zadd(`${KEYS}:least-assigned:counts`, ...step.flatMap((id) => [0, id]));
    await pipeline.exec();
  }
}

function* steps() {
  for (let from = 0; from < ids.length; from += STEP) yield ids.slice(from, from + STEP);
}

async function importList(body, mode) {
  const { total } = await host.pools.importMembers(POOL, { format: 'text', body }, { mode });
  if (total !== LINES) throw new Error(`The pool has ${total} members, not ${LINES}.`);
}

async function fresh(work) {
  await redis.client.flushall();
  await host.pools.put(POOL);
  return measured(work);
}

async function measured(work) {
  await redis.client.slowlog('RESET');
  const ms = await elapsed(work);
  const slow = await redis.client.slowlog('GET', -1);
  const longestMs = Math.max(0, ...slow.map(([, , us]) => us)) / 1_000;
  return { ms, longestMs };
}

function toRow([name, key, bound]) {
  const ms = found.map((results) => results[key].ms);
  const { ratio, span } = ratios(
    ms,
    found.map((results) => results.bare.ms),
  );
  const longest = found.map((results) => results[key].longestMs);
  const isBare = key === 'bare' || key === 'variadic';
  return [
    name,
    median(ms).toFixed(0),
    ratio.toFixed(2),
    span,
    bound === undefined ? '' : verdict(ratio, bound),
    median(longest).toFixed(1),
    Math.max(...longest).toFixed(1),
    isBare ? '' : verdict(median(longest), MAX_SCRIPT_MS),
  ];
}

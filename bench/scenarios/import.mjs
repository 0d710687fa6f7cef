import { Checks } from '../support/checks.mjs';
import { elapsed, median, ratios } from '../support/rounds.mjs';
import { proxyList } from '../support/selection.host.mjs';
import { describeLongest, longestOf, openSlowLog } from '../support/slow.log.mjs';

const LINES = 100_000;
const POOL = 'shop';
const KEYS = `evenhand:{${POOL}}`;
const ROUNDS = 5;
/** The record of a member that has nothing but its id. */
const RECORD = '1 - 0\n\n';
/** Members in one pipeline of a bare write. */
const STEP = 1_000;
const MAX_RATIO = 2;
const MAX_SCRIPT_MS = 20;
const list = proxyList(LINES);
const otherList = list.replaceAll(/^/gm, 'socks5://');
const ids = list.split('\n').map((address) => `http://${address}`);

export const title = 'An import of 100,000 lines, text to pool, against a bare write of the same keys';

export async function run({ redis: { client }, host, rounds }) {
  await openSlowLog(client);
  const found = [];
  for (let n = 0; n < rounds(ROUNDS); n++) found.push(await round(client, host.pools));
  const checks = new Checks();
  const rows = [
    ['bare write, pipelined', 'bare'],
    ['bare write, a thousand a command', 'variadic'],
    ['import into an empty pool', 'first', MAX_RATIO],
    ['the same import again', 'again'],
    ['replaced by another list', 'replaced'],
  ].map((row) => toRow(row, found, checks));
  const title = `import: ${LINES.toLocaleString('en')} lines, ${found.length} rounds; the longest script as the median of the rounds and of all`;
  return { tables: [{ title, rows }], checks: checks.list };
}

/** One after the other, each with what the one before left. */
async function round(client, pools) {
  const measured = async (work) => {
    let ms;
    const longestMs = await longestOf(client, async () => {
      ms = await elapsed(work);
    });
    return { ms, longestMs };
  };
  const fresh = async (work) => {
    await client.flushall();
    await pools.put(POOL);
    return measured(work);
  };
  const results = {
    bare: await fresh(() => writePipelined(client)),
    variadic: await fresh(() => writeVariadic(client)),
  };
  results.first = await fresh(() => importList(pools, list, 'merge'));
  results.again = await measured(() => importList(pools, list, 'merge'));
  results.replaced = await measured(() => importList(pools, otherList, 'replace'));
  return results;
}

/** The keys that an import writes, with what it writes into them, a command for each. */
async function writePipelined(client) {
  for (const step of steps()) {
    const pipeline = client.pipeline();
    for (const id of step) {
      pipeline.hset(`${KEYS}:members`, id, RECORD);
      pipeline.zadd(`${KEYS}:eligible`, 0, id);
      pipeline.zadd(`${KEYS}:least-assigned:counts`, 0, id);
    }
    await pipeline.exec();
  }
}

/** The same with one command for a thousand members, which no import that looks at each member can do. */
async function writeVariadic(client) {
  for (const step of steps()) {
    const pipeline = client.pipeline();
    pipeline.hset(`${KEYS}:members`, ...step.flatMap((id) => [id, RECORD]));
    pipeline.zadd(`${KEYS}:eligible`, ...step.flatMap((id) => [0, id]));
    pipeline.zadd(`${KEYS}:least-assigned:counts`, ...step.flatMap((id) => [0, id]));
    await pipeline.exec();
  }
}

function* steps() {
  for (let from = 0; from < ids.length; from += STEP) yield ids.slice(from, from + STEP);
}

async function importList(pools, body, mode) {
  const { total } = await pools.importMembers(POOL, { format: 'text', body }, { mode });
  if (total !== LINES) throw new Error(`The pool has ${total} members, not ${LINES}.`);
}

function toRow([name, key, bound], found, checks) {
  const numbers = (measure, of = key) => found.map((results) => results[of][measure]);
  const { ratio, span } = ratios(numbers('ms'), numbers('ms', 'bare'));
  const longest = numbers('longestMs');
  const isBare = key === 'bare' || key === 'variadic';
  return {
    '': name,
    ms: median(numbers('ms')),
    'of bare': ratio,
    'middle half': span,
    required: checks.atMost(`${name}, of bare`, ratio, bound),
    'longest ms': describeLongest(median(longest)),
    'of all': describeLongest(Math.max(...longest)),
    'longest required': checks.atMost(
      `${name}, longest script, ms`,
      median(longest),
      isBare ? undefined : MAX_SCRIPT_MS,
    ),
  };
}

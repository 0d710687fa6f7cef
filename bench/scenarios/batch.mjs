import { Checks } from '../support/checks.mjs';
import { commandStats } from '../support/redis.process.mjs';
import { interleave, median, microsecondsPerCall, perSecond, ratios } from '../support/rounds.mjs';
import { selectScript } from '../support/select.script.mjs';
import { fillPool } from '../support/selection.host.mjs';

const MEMBERS = 10_000;
const CALLERS = [8, 64];
const ROUNDS = 9;
/** Of single picks by a script each: single selections that gather are batches themselves. */
const AT_LEAST = { count: 100, bound: 4 };
const SCRIPTS = 'a script each';
const SELECTIONS = { pool: 'shop', strategy: 'least-assigned', counts: [1, 10, 100, 1_000], each: 1_000 };
/** Leases are acquired as batches and completed one by one, by as many callers. */
const LEASES = { pool: 'slots', strategy: 'least-concurrency', counts: [1, 10, 100], each: 100 };

export const title = 'Selections of a batch against single ones, at the same number of callers';

export async function run({ redis, host, rounds }) {
  const checks = new Checks();
  const tables = [];
  for (const kind of [SELECTIONS, LEASES]) {
    await fillPool(host, kind.pool, MEMBERS, { strategy: kind.strategy });
    const rows = [];
    for (const callers of CALLERS) {
      const contestants = kind.counts.map((count) => [count, () => measure(redis, host, { ...kind, callers, count })]);
      if (kind === SELECTIONS) contestants.push([SCRIPTS, await scripts(host, { ...kind, callers })]);
      const found = await interleave(Object.fromEntries(contestants), rounds(ROUNDS));
      rows.push(...kind.counts.map((count) => toRow(kind, callers, count, found, checks)));
    }
    const title = `batch: ${kind.strategy}, pool of ${MEMBERS.toLocaleString('en')} members, ${rounds(ROUNDS)} rounds in turn`;
    tables.push({ title, rows });
  }
  return { tables, checks: checks.list };
}

/** The same number of selections whatever the size of the batches; in microseconds a selection. */
async function measure({ client }, { selection }, { pool, callers, count, each }) {
  const selections = callers * each;
  const leases = [];
  const call = async () => {
    const found = count === 1 ? await selectOne(selection, pool) : await selection.selectBatch(pool, { count });
    for (const { lease } of found.selections) if (lease) leases.push(lease.id);
  };
  const before = await commandStats(client, 'evalsha');
  const callerUs = (await microsecondsPerCall(call, selections / count, callers)) / count;
  const after = await commandStats(client, 'evalsha');
  const completeUs = await microsecondsPerCall(() => selection.complete(pool, leases.pop()), leases.length, callers);
  return { callerUs, redisUs: (after.usec - before.usec) / selections, cycleUs: callerUs + completeUs };
}

/** Single picks that do not gather, by the module's own client. */
async function scripts({ client }, { pool, callers, each }) {
  const { call } = await selectScript(client, pool);
  return async () => ({ callerUs: await microsecondsPerCall(call, callers * each, callers) });
}

async function selectOne(selection, pool) {
  return { selections: [(await selection.select(pool)).selection] };
}

function toRow({ strategy }, callers, count, found, checks) {
  const numbers = (measure, of = count) => found[of].map((result) => result[measure]);
  const { ratio, span } = ratios(numbers('callerUs', 1), numbers('callerUs'));
  const isBound = strategy === SELECTIONS.strategy && count === AT_LEAST.count;
  const row = {
    callers,
    'members a call': count,
    'members/s': perSecond(numbers('callerUs')),
    'of single ones': ratio,
    'middle half': span,
    'redis us a member': median(numbers('redisUs')),
  };
  if (strategy === LEASES.strategy) {
    row['with completion/s'] = perSecond(numbers('cycleUs'));
    row['of single cycles'] = ratios(numbers('cycleUs', 1), numbers('cycleUs')).ratio;
  }
  if (strategy === SELECTIONS.strategy) {
    const ofScripts = ratios(numbers('callerUs', SCRIPTS), numbers('callerUs')).ratio;
    const what = `batches of ${count}, of single picks by a script each, ${callers} in flight`;
    row['of a script each'] = ofScripts;
    row.required = checks.atLeast(what, ofScripts, isBound ? AT_LEAST.bound : undefined);
  }
  return row;
}

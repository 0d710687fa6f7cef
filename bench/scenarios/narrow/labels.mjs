import { Checks } from '../../support/checks.mjs';
import { interleave, median, ratios } from '../../support/rounds.mjs';
import { proxyList } from '../../support/selection.host.mjs';
import { costOf, cycle, selectMany } from './cost.mjs';

const ROUNDS = 11;
const MEMBERS = 100_000;
/** At most twice the time of a plain selection, in a pool that declares no filters. */
const BOUND = 2;
const STRATEGIES = [
  { strategy: 'least-assigned', picks: 1_000_000, batch: 1_000 },
  { strategy: 'least-concurrency', picks: 200_000, batch: 200 },
];
const ASKED = {
  'half of them': { labels: { half: 'one' } },
  'a single one': { labels: { single: true } },
};

/** A label that half of 100,000 members have, and one that a single member has, before and after so many picks that ask for it. */
export async function measureLabels({ redis: { client }, host, rounds }) {
  const checks = new Checks();
  const rows = [];
  for (const { strategy, picks, batch } of STRATEGIES) {
    const pools = { plain: `plain-${strategy}`, declared: `declared-${strategy}` };
    await fill(host, pools.plain, { strategy });
    await fill(host, pools.declared, { strategy, filters: [['half'], ['single']] });
    for (const isAfter of [false, true]) {
      if (isAfter)
        for (const request of Object.values(ASKED)) await selectMany(host, pools.declared, picks, batch, request);
      const contestants = {
        plain: () => costOf(client, cycle(host, pools.plain)),
        'two filters declared, none asked for': () => costOf(client, cycle(host, pools.declared)),
      };
      for (const [name, request] of Object.entries(ASKED))
        contestants[name] = () => costOf(client, cycle(host, pools.declared, request));
      const found = await interleave(contestants, rounds(ROUNDS));
      const moment = isAfter ? `after ${picks.toLocaleString('en')} picks with each filter` : 'at first';
      for (const name of Object.keys(contestants)) rows.push(toRow({ strategy, name, moment, found, checks }));
    }
  }
  return {
    table: { title: `narrow: labels, ${MEMBERS.toLocaleString('en')} members, two filters`, rows },
    checks: checks.list,
  };
}

/** @param bound of the ratio to `base`; null for none */
export function toRow({ strategy, name, moment, found, checks, bound = BOUND, base = 'plain' }) {
  const us = (each) => found[each].map((round) => round.us);
  const { ratio, span } = ratios(us(name), us(base));
  const redis = ratios(
    found[name].map(({ redisUs }) => redisUs),
    found[base].map(({ redisUs }) => redisUs),
  );
  return {
    strategy,
    asked: name,
    moment,
    'of plain': ratio,
    'middle half': span,
    'redis us': median(found[name].map(({ redisUs }) => redisUs)),
    'redis, of plain': redis.ratio,
    required:
      name === base
        ? ''
        : checks.atMost([strategy, name, moment, `of ${base}`].filter(Boolean).join(', '), ratio, bound ?? undefined),
  };
}

async function fill({ pools }, name, settings) {
  await pools.put(name, settings);
  const lines = proxyList(MEMBERS)
    .split('\n')
    .map((address, n) => {
      const labels = { half: n % 2 === 0 ? 'one' : 'other', ...(n === MEMBERS / 2 && { single: true }) };
      return JSON.stringify({ value: `http://${address}`, labels });
    });
  await pools.importMembers(name, { format: 'ndjson', body: lines.join('\n') });
}

import { Checks } from '../../support/checks.mjs';
import { commandStats } from '../../support/redis.process.mjs';
import { interleave, microsecondsPerCall } from '../../support/rounds.mjs';
import { fillPool } from '../../support/selection.host.mjs';
import { ban, idsOf, usedMemory } from './bans.mjs';
import { costOf, cycle } from './cost.mjs';
import { toRow } from './labels.mjs';

const ROUNDS = 11;
const MEMBERS = 1_000;
const TARGETS = 10_000;
/** Of the members, at each target. */
const SHARES = { 'a tenth of them, others at each target': 0.1, 'the same third of them at each target': 1 / 3 };
const STRATEGIES = ['least-assigned', 'least-concurrency'];

/** Selections for one of 10,000 targets at random, each of which has banned members, beside plain ones in a pool of the same size. */
export async function measureTargets({ redis: { client }, host, rounds }) {
  const checks = new Checks();
  const rows = [];
  for (const strategy of STRATEGIES) {
    await fillPool(host, `plain-${strategy}-targets`, MEMBERS, { strategy });
    const contestants = { plain: () => costOf(client, cycle(host, `plain-${strategy}-targets`)) };
    const [bytes, firsts] = [{}, {}];
    for (const [name, share] of Object.entries(SHARES)) {
      const pool = `targets-${strategy}-${Math.round(share * 100)}`;
      await fillPool(host, pool, MEMBERS, { strategy });
      bytes[name] = await banEverywhere(client, pool, share);
      firsts[name] = await firstOfEach(client, host, pool);
      contestants[name] = () =>
        costOf(client, () => cycle(host, pool, { target: `${Math.floor(Math.random() * TARGETS)}.example` })());
    }
    const found = await interleave(contestants, rounds(ROUNDS));
    for (const name of Object.keys(contestants))
      rows.push({
        ...toRow({ strategy, name, moment: '', found, checks }),
        'bytes a ban': bytes[name] ?? '',
        'redis us, first': firsts[name] ?? '',
      });
  }
  const title = `narrow: ${TARGETS.toLocaleString('en')} targets, ${MEMBERS.toLocaleString('en')} members, with bans`;
  return { table: { title, rows: rows.map(({ moment: _moment, ...row }) => row) }, checks: checks.list };
}

/** The first pick for a target passes over those that are banned in front of all others, once: what that costs. */
async function firstOfEach(client, host, pool) {
  let n = 0;
  const before = await commandStats(client, 'evalsha');
  await microsecondsPerCall(() => cycle(host, pool, { target: `${n++}.example` })(), TARGETS, 4);
  return ((await commandStats(client, 'evalsha')).usec - before.usec) / TARGETS;
}

/** @returns bytes of Redis for each ban */
async function banEverywhere(client, pool, share) {
  const ids = await idsOf(client, pool);
  const size = Math.round(MEMBERS * share);
  const before = await usedMemory(client);
  for (let n = 0; n < TARGETS; n++) {
    const from = share < 0.2 ? (n * 37) % MEMBERS : 0;
    const banned = Array.from({ length: size }, (_, k) => ids[(from + k * (share < 0.2 ? 7 : 1)) % MEMBERS]);
    await ban(client, pool, `${n}.example`, banned);
  }
  return ((await usedMemory(client)) - before) / (TARGETS * size);
}

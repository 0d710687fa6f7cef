import { Checks } from '../support/checks.mjs';
import { bareCycle, evenhandCycle } from '../support/lease.contestants.mjs';
import { commandStats } from '../support/redis.process.mjs';
import { interleave, median, microsecondsPerCall, perSecond, ratios } from '../support/rounds.mjs';
import { fillPool } from '../support/selection.host.mjs';

const POOL = 'shop';
const MEMBERS = 1_000;
const ROUNDS = 31;
const LOADS = [
  { callers: 1, cycles: 1_000, bound: 0.95 },
  { callers: 8, cycles: 2_500, bound: 0.9 },
  { callers: 64, cycles: 6_000, bound: 2 },
  { callers: 512, cycles: 12_000, bound: 2.7 },
];

export const title = 'Select and complete against EVALSHA of the same two scripts by a bare ioredis client';

export async function run({ redis, host, rounds }) {
  await fillPool(host, POOL, MEMBERS, { strategy: 'least-concurrency' });
  const bare = await bareCycle(redis.client, POOL);
  const evenhand = evenhandCycle(host, POOL);
  const checks = new Checks();
  const rows = [];
  for (const { callers, cycles, bound } of LOADS) {
    const contestants = {
      bare: () => microsecondsPerCall(bare, cycles, callers),
      evenhand: () => withRedisTime(redis.client, cycles, () => microsecondsPerCall(evenhand, cycles, callers)),
    };
    const found = await interleave(contestants, rounds(ROUNDS));
    const redisUs = median(found.evenhand.map((result) => result.redisUs));
    found.evenhand = found.evenhand.map(({ us }) => us);
    const { ratio, span } = ratios(found.bare, found.evenhand);
    rows.push({
      callers,
      'bare/s': perSecond(found.bare),
      'evenhand/s': perSecond(found.evenhand),
      'evenhand us': median(found.evenhand),
      'of it in scripts': redisUs,
      'of bare': ratio,
      'middle half': span,
      required: checks.atLeast(`lease cycle, of bare ioredis, ${callers} in flight`, ratio, bound),
    });
  }
  const table = {
    title: `lease: cycles a second, pool of ${MEMBERS.toLocaleString('en')} members, ${rounds(ROUNDS)} rounds in turn`,
    rows,
  };
  return { tables: [table], checks: checks.list };
}

/** How long Redis was in scripts, too: what one Redis could do at most if clients cost nothing. */
async function withRedisTime(client, cycles, measure) {
  const before = await commandStats(client, 'evalsha');
  const us = await measure();
  const after = await commandStats(client, 'evalsha');
  return { us, redisUs: (after.usec - before.usec) / cycles };
}

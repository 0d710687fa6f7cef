// What SelectionService.select adds to the bare round trip: EVALSHA of the same script with the same keys, by ioredis alone.
import { loadScript } from '../dist/redis/script.loader.js';
import { KeyNames } from '../dist/selection/key.names.js';
import { startRedis } from './support/redis.process.mjs';
import { interleave, median, ratios, microsecondsPerCall } from './support/rounds.mjs';
import { fillPool, startHost } from './support/selection.host.mjs';
import { printTable, verdict } from './support/table.mjs';

const POOL = 'shop';
const MEMBERS = 500;
const WARM_UP_ROUNDS = 5;
const ROUNDS = 31;
const CALLS = 1_500;
const MAX_RATIO = 1.1;
const BARE = 'EVALSHA, bare ioredis';
const SELECT = 'SelectionService.select';

const redis = await startRedis();
const host = await startHost(redis.url);
try {
  await fillPool(host, POOL, MEMBERS);
  const contestants = {
    [BARE]: await bareCall(redis.client),
    "EVALSHA, the module's client": await bareCall(host.client),
    [SELECT]: () => host.selection.select(POOL),
  };
  const rows = [];
  for (const inFlight of [1, 64]) rows.push(...(await compare(contestants, inFlight)));
  printTable(
    `select: SelectionService.select against bare EVALSHA, ${ROUNDS} rounds of ${CALLS} calls each, in turn`,
    ['', 'calls in flight', 'us a call', 'ratio to bare', 'middle half', 'required'],
    rows,
  );
} finally {
  await host.close();
  await redis.stop();
}

async function bareCall(client) {
  const sha = await client.script('LOAD', loadScript('least-assigned/select.lua'));
  const names = new KeyNames('evenhand');
  const { members, assigned, settings, eligible, withdrawn } = names.pool(POOL);
  const keys = [...names.index(POOL, 'least-assigned', ['counts']), members, assigned, settings, eligible, withdrawn];
  return () => client.evalsha(sha, keys.length, ...keys, 'least-assigned', 1);
}

async function compare(contestants, inFlight) {
  const measured = Object.entries(contestants).map(([name, call]) => [
    name,
    () => microsecondsPerCall(call, CALLS, inFlight),
  ]);
  await interleave(Object.fromEntries(measured), WARM_UP_ROUNDS);
  const found = await interleave(Object.fromEntries(measured), ROUNDS);
  return Object.entries(found).map(([name, numbers]) => {
    const { ratio, span } = ratios(numbers, found[BARE]);
    const isBound = name === SELECT && inFlight === 1;
    const required = isBound ? verdict(ratio, MAX_RATIO) : '';
    return [name, inFlight, median(numbers).toFixed(1), ratio.toFixed(3), span, required];
  });
}

import { proxyList } from '../../support/selection.host.mjs';

const POOL = 'memory';
const MEMBERS = 100_000;
const LEASES = 20_000;
const BATCH = 200;
const STRATEGIES = ['least-assigned', 'least-concurrency'];
/** The same members as lines of JSON, with a label each. */
const LABELLED = proxyList(MEMBERS)
  .split('\n')
  .map((address) => JSON.stringify({ value: `http://${address}`, labels: { country: 'DE' } }))
  .join('\n');
const LISTS = [
  { name: 'a member', format: 'text', body: proxyList(MEMBERS) },
  { name: 'a member with a label', format: 'ndjson', body: LABELLED },
];

/** Bytes by which Redis grows for each member and lease. The server's data are deleted. */
export async function measureMemory({ redis: { client }, host }) {
  const rows = [];
  for (const strategy of STRATEGIES) {
    for (const { name, format, body } of LISTS) {
      await client.flushall();
      await host.pools.put(POOL, { strategy });
      const bytes = await growth(client, () => host.pools.importMembers(POOL, { format, body }));
      rows.push({ of: name, strategy, bytes: bytes / MEMBERS });
    }
  }
  const bytes = await growth(client, () => acquire(host, LEASES));
  rows.push({ of: 'a live lease', strategy: STRATEGIES[1], bytes: bytes / LEASES });
  await client.flushall();
  const counts = `${MEMBERS.toLocaleString('en')} members with ids of 21 to 26 characters, ${LEASES.toLocaleString('en')} leases`;
  return { title: `scale: bytes of Redis, from ${counts}`, rows };
}

async function growth(client, work) {
  const before = await usedMemory(client);
  await work();
  return (await usedMemory(client)) - before;
}

async function usedMemory(client) {
  return Number(/used_memory:(\d+)/.exec(await client.info('memory'))[1]);
}

async function acquire({ selection }, count) {
  for (let n = 0; n < count; n += BATCH) await selection.selectBatch(POOL, { count: BATCH });
}

// Worker processes share one pool: does every member get its even share?
//
//   node examples/even-share.mjs rest [list.txt]      through the REST API of a running service
//   node examples/even-share.mjs library [list.txt]   through SelectionService, in Nest processes of their own
//
// EVENHAND_URL names the service (default http://127.0.0.1:3000), REDIS_URL the Redis of the library (default: the embedded
// server of a service that was started here). Without a list 492 addresses of documentation are used.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const WORKERS = 8;
const SELECTIONS = 2_000;
/** Selections that one worker has under way at the same time. */
const AT_ONCE = 8;
const POOL = 'even-share';

const url = process.env.EVENHAND_URL ?? 'http://127.0.0.1:3000';
const socket = fileURLToPath(new URL('../data/redis/redis.sock', import.meta.url));
const redisUrl = process.env.REDIS_URL ?? `unix://${encodeURI(socket)}`;

const rest = {
  async open() {
    const call = async (method, path, body, type = 'application/json') => {
      const headers = body === undefined ? {} : { 'content-type': type };
      const response = await fetch(`${url}/v1/pools/${POOL}${path}`, { method, headers, body });
      const text = await response.text();
      if (!response.ok) throw new Error(text);
      return text === '' ? null : JSON.parse(text);
    };
    return {
      create: () => call('PUT', ''),
      import: (list) => call('POST', '/members', list, 'text/plain'),
      select: async () => (await call('POST', '/selections')).selection.member.id,
      remove: () => call('DELETE', ''),
      close: async () => {},
    };
  },
};

const library = {
  async open() {
    const { NestFactory } = await import('@nestjs/core');
    const { PoolService, SelectionModule, SelectionService } = await import('evenhand');
    const module = SelectionModule.forRoot({ redis: { connection: { url: redisUrl } } });
    const app = await NestFactory.createApplicationContext(module, { logger: ['error'] });
    const pools = app.get(PoolService);
    const selection = app.get(SelectionService);
    return {
      create: () => pools.put(POOL),
      import: (list) => pools.importMembers(POOL, { format: 'text', body: list }),
      select: async () => (await selection.select(POOL)).selection.member.id,
      remove: () => pools.delete(POOL),
      close: () => app.close(),
    };
  },
};

const ways = { rest, library };

async function work(way) {
  const client = await ways[way].open();
  const counts = {};
  let left = SELECTIONS;
  const one = async () => {
    while (left-- > 0) {
      const id = await client.select();
      counts[id] = (counts[id] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  await client.close();
  process.send(counts);
  process.disconnect();
}

async function measure(way, list) {
  const client = await ways[way].open();
  await client.create();
  const { total } = await client.import(list);
  const startedAt = performance.now();
  const workers = Array.from({ length: WORKERS }, () => fork(fileURLToPath(import.meta.url), ['worker', way]));
  const results = await Promise.all(workers.map((worker) => once(worker, 'message')));
  const seconds = (performance.now() - startedAt) / 1000;
  await client.remove();
  await client.close();
  print(
    total,
    results.map(([counts]) => counts),
    seconds,
  );
}

function print(members, results, seconds) {
  const counts = new Map();
  for (const result of results) {
    for (const [id, count] of Object.entries(result)) counts.set(id, (counts.get(id) ?? 0) + count);
  }
  const spread = new Map();
  for (const count of counts.values()) spread.set(count, (spread.get(count) ?? 0) + 1);
  const selections = [...counts.values()].reduce((sum, count) => sum + count, 0);
  console.log(`${WORKERS} processes made ${selections} selections over ${members} members in ${seconds.toFixed(1)} s:`);
  for (const count of [...spread.keys()].sort((a, b) => a - b)) {
    console.log(`  ${spread.get(count)} members were selected ${count} times`);
  }
}

function documentationAddresses() {
  const blocks = ['192.0.2', '198.51.100'];
  return blocks.flatMap((block) => Array.from({ length: 246 }, (_, n) => `${block}.${n + 1}:8080`)).join('\n');
}

const [first, second] = process.argv.slice(2);
if (first === 'worker') await work(second);
else if (first in ways) await measure(first, second ? readFileSync(second) : documentationAddresses());
else console.log('Usage: node examples/even-share.mjs rest|library [list.txt]');

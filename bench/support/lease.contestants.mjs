import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Bottleneck from 'bottleneck';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import Redlock from 'redlock';
import { Semaphore } from 'redis-semaphore';
import { loadScript } from '../../dist/redis/script.loader.js';
import { KeyNames, leaseKeys } from '../../dist/selection/key.names.js';
import { newToken } from '../../dist/selection/leases/lease.name.js';

const STRATEGY = 'least-concurrency';
const INDEX = ['ready', 'full', 'away', 'counts'];
/** How long a lock or lease of the others lives, in ms: longer than any cycle here. */
const TTL_MS = 10_000;

/** SelectionService: select, then complete. */
export function evenhandCycle({ selection }, pool) {
  return async () => {
    const { selection: found } = await selection.select(pool);
    await selection.complete(pool, found.lease.id);
  };
}

/** The two scripts that SelectionService runs, with the same keys and arguments, by EVALSHA of a bare client. */
export async function bareCycle(client, pool) {
  const [acquire, settle] = await Promise.all(
    ['acquire', 'settle'].map((name) => client.script('LOAD', loadScript(`${STRATEGY}/${name}.lua`))),
  );
  const names = new KeyNames('evenhand');
  const keys = leaseKeys(names.pool(pool), names.index(pool, STRATEGY, INDEX));
  const ask = (registeredMs) =>
    client.evalsha(acquire, keys.length, ...keys, STRATEGY, '', registeredMs, '', newToken());
  return async () => {
    let reply = await ask(0);
    if (reply[0] === 'REGISTER') {
      await client.zadd(names.due(), 'LT', reply[1], `${pool}!`);
      reply = await ask(reply[1]);
    }
    await client.evalsha(settle, keys.length, ...keys, 'c', reply[5].slice(0, reply[5].indexOf('\n')));
  };
}

/** redis-semaphore: one semaphore of as many permits as the pool has members; a permit is taken and given back. */
export function semaphoreCycle(client, permits) {
  return async () => {
    const semaphore = new Semaphore(client, 'bench', permits, { lockTimeout: TTL_MS });
    await semaphore.acquire();
    await semaphore.release();
  };
}

/** redlock: a lock on the next of so many resources, each in its turn, so that none is contended. */
export function redlockCycle(client, resources) {
  const redlock = new Redlock([client]);
  let turn = 0;
  return async () => {
    turn = (turn + 1) % resources;
    const lock = await redlock.lock(`bench:redlock:${turn}`, TTL_MS);
    await lock.unlock();
  };
}

/** bottleneck with its Redis datastore: a job of no work, at most so many at once. */
export async function bottleneckCycle(url, maxConcurrent) {
  const limiter = new Bottleneck({
    ...{ id: 'bench', datastore: 'ioredis', Redis, clientOptions: optionsOf(url), clearDatastore: true },
    maxConcurrent,
  });
  await limiter.ready();
  return { cycle: () => limiter.schedule(async () => undefined), close: () => limiter.disconnect() };
}

/** bullmq: a job of no work is added, taken by a worker, and completed; the same process does both. */
export async function bullmqCycle(url, concurrency) {
  const queue = new Queue('bench', { connection: optionsOf(url), defaultJobOptions: { removeOnComplete: true } });
  const connection = { ...optionsOf(url), maxRetriesPerRequest: null };
  const waiting = new Map();
  const worker = new Worker('bench', async () => undefined, { connection, concurrency });
  worker.on('completed', ({ name }) => waiting.get(name)?.());
  await worker.waitUntilReady();
  let jobs = 0;
  const cycle = async () => {
    const name = String(jobs++);
    const done = new Promise((resolve) => waiting.set(name, resolve));
    await queue.add(name, {});
    await done;
    waiting.delete(name);
  };
  const close = async () => {
    await nextTurn();
    await worker.close();
    await queue.close();
  };
  return { cycle, close };
}

/** A client of its own for each of the others, with the settings that ioredis comes with. */
export async function openClient(url) {
  const client = new Redis(optionsOf(url));
  await once(client, 'ready');
  return client;
}

function optionsOf(url) {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}

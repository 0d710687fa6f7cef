import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Checks } from '../support/checks.mjs';
import { startDaemon } from '../support/crawl.daemon.mjs';
import { startServer } from '../support/http.server.mjs';
import { median } from '../support/rounds.mjs';

const SERVICE = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const LIMIT = 4;
const ROUNDS = 3;
/** How long each state is watched. */
const WATCH_MS = 10_000;
const WAITING = [0, 1_000, 9_000];
/** As docs/dispatch.md says, for a queue with jobs and a process. */
const MAX_COMMANDS = 80;
const MAX_CPU = 0.05;
/** How much more a long line may cost than none. */
const MAX_RATIO = 1.5;
const JOBS_AT_ONCE = 32;
const JOBS = 2_000;

export const title = 'What a queue costs while its jobs wait, and how many jobs a second go through one';

export async function run({ redis, host, rounds, profileArgs }) {
  await host.pools.put('up');
  const service = await startServer('/v1/pools/up/selections', (port) => ({
    args: [...profileArgs('service'), SERVICE],
    env: { PORT: String(port), REDIS_URL: redis.url, LOG_LEVEL: 'error' },
  }));
  const api = apiOf(service.url);
  const checks = new Checks();
  try {
    const waiting = await waitingTable({ redis, service, api, rounds: rounds(ROUNDS), checks });
    const through = await throughTable({ redis, api, rounds: rounds(ROUNDS) });
    return { tables: [waiting, through], checks: checks.list };
  } finally {
    await service.stop();
  }
}

async function waitingTable({ redis, service, api, rounds, checks }) {
  const idle = [];
  for (let n = 0; n < rounds; n++) idle.push(await watch(redis.client, service));
  const rows = [{ state: 'no queue', ...summary(idle) }];
  const byWaiting = new Map();
  for (const count of WAITING) {
    const node = await setUp({ redis, api, limit: LIMIT });
    await submit(api, LIMIT + count);
    await until(() => node.daemon.started === LIMIT);
    const found = [];
    for (let n = 0; n < rounds; n++) found.push(await watch(redis.client, service));
    if (node.daemon.started !== LIMIT) throw new Error('more was started than may');
    byWaiting.set(count, summary(found));
    rows.push({ state: `${LIMIT} run, ${count.toLocaleString('en')} wait`, ...summary(found) });
    node.release();
    await api('POST', '/v1/queues/crawls/pause');
    await until(async () => (await api('GET', '/v1/queues/crawls')).running === 0);
    await api('DELETE', '/v1/queues/crawls?force=true');
    node.stop();
  }
  const most = byWaiting.get(1_000);
  rows[2].required = checks.atMost('Redis commands a second, 1,000 jobs wait', most['commands/s'], MAX_COMMANDS);
  checks.atMost('CPUs of the service, 1,000 jobs wait', most.CPUs, MAX_CPU);
  checks.atMost(
    'commands a second, 9,000 jobs wait against none',
    byWaiting.get(9_000)['commands/s'] / byWaiting.get(0)['commands/s'],
    MAX_RATIO,
  );
  return { title: `while jobs wait: one process, medians of ${rounds} times ${WATCH_MS / 1_000} s`, rows };
}

/** Jobs that end as soon as they are asked about. */
async function throughTable({ redis, api, rounds }) {
  const times = [];
  for (let n = 0; n < rounds; n++) {
    const node = await setUp({ redis, api, limit: JOBS_AT_ONCE });
    node.release();
    const startedAt = performance.now();
    await submit(api, JOBS);
    await until(async () => (await api('GET', '/v1/queues/crawls')).finished === JOBS);
    times.push(performance.now() - startedAt);
    await api('DELETE', '/v1/queues/crawls');
    node.stop();
  }
  const rows = [
    { 'jobs/s': Math.round((JOBS * 1_000) / median(times)), 'ms a job': (median(times) / JOBS).toFixed(1) },
  ];
  return { title: `through one queue: ${JOBS} jobs that end at once, limit ${JOBS_AT_ONCE}, for orientation`, rows };
}

async function setUp({ redis, api, limit }) {
  await redis.client.flushall();
  const node = await startDaemon();
  await api('PUT', '/v1/pools/nodes', { strategy: 'least-concurrency' });
  await api('POST', '/v1/pools/nodes/members', { members: [{ id: 'node', value: node.url }] });
  const launcher = { type: 'scrapyd', project: 'shop', spider: 'crawl' };
  await api('PUT', '/v1/queues/crawls', { pool: 'nodes', limit, launcher, pollMs: limit === LIMIT ? 2_000 : 100 });
  return node;
}

function submit(api, count) {
  return api('POST', '/v1/queues/crawls/requests', { jobs: Array.from({ length: count }, () => ({ payload: {} })) });
}

/** Redis commands and time of the service, a second. */
async function watch(client, { cpuUs }) {
  const [commands, cpu] = [await commandsOf(client), cpuUs()];
  const startedAt = performance.now();
  await sleep(WATCH_MS);
  const seconds = (performance.now() - startedAt) / 1_000;
  // The question itself is one of them.
  return {
    commands: ((await commandsOf(client)) - commands - 1) / seconds,
    cpu: (cpuUs() - cpu) / 1_000_000 / seconds,
  };
}

function summary(found) {
  return {
    'commands/s': Math.round(median(found.map(({ commands }) => commands)) * 10) / 10,
    CPUs: Math.round(median(found.map(({ cpu }) => cpu)) * 1_000) / 1_000,
  };
}

/** Those inside of scripts count as well. */
async function commandsOf(client) {
  return Number(/total_commands_processed:(\d+)/.exec(await client.info('stats'))[1]);
}

async function until(isSo) {
  const deadline = performance.now() + 120_000;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error('timed out');
    await sleep(20);
  }
}

function apiOf(url) {
  const base = new URL(url).origin;
  return async (method, path, body) => {
    const json =
      body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const response = await fetch(`${base}${path}`, { method, ...json });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
}

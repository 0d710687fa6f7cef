import { fileURLToPath } from 'node:url';
import { Checks } from '../support/checks.mjs';
import { startServer } from '../support/http.server.mjs';
import { interleave, median, perSecond, ratios } from '../support/rounds.mjs';
import { fillPool } from '../support/selection.host.mjs';
import { loadByWrk } from '../support/wrk.mjs';

const POOL = 'shop';
const MEMBERS = 1_000;
const PATH = `/v1/pools/${POOL}/selections`;
/** Processes differ in how Node has compiled them: pairs of new ones, so many rounds each. */
const [LAUNCHES, ROUNDS] = [3, 5];
const LOAD = { connections: 64, seconds: 2 };
const AT_LEAST = 0.85;
const SERVICE = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const BARE = fileURLToPath(new URL('../support/bare.fastify.mjs', import.meta.url));

export const title = 'A selection over REST against a bare Fastify route with one EVALSHA a request';

export async function run({ redis, host, rounds, profileArgs }) {
  await fillPool(host, POOL, MEMBERS);
  const found = { bare: [], service: [] };
  for (let launch = 0; launch < LAUNCHES; launch++) {
    const { bare, service } = await runPair(redis, rounds(ROUNDS), (name) => profileArgs(`${name}.${launch}`));
    found.bare.push(...bare);
    found.service.push(...service);
  }
  return toResult(found);
}

async function runPair(redis, rounds, profileArgs) {
  const service = await startServer(PATH, (port) => ({
    args: [...profileArgs('service'), SERVICE],
    env: { PORT: String(port), REDIS_URL: redis.url, LOG_LEVEL: 'warn' },
  }));
  const { headers } = await service.answer();
  const bare = await startServer(PATH, (port) => ({
    args: [...profileArgs('bare'), BARE, port, redis.port, POOL, JSON.stringify(headers)].map(String),
  }));
  try {
    await requireSameAnswer(service, bare);
    return await interleave({ bare: () => measure(bare), service: () => measure(service) }, rounds);
  } finally {
    await Promise.all([service.stop(), bare.stop()]);
  }
}

async function requireSameAnswer(service, bare) {
  const [ours, theirs] = [await service.answer(), await bare.answer()];
  if (ours.shape !== theirs.shape) throw new Error(`The answers differ:\n${ours.shape}\n\n${theirs.shape}`);
}

async function measure(server) {
  const before = server.cpuUs();
  const found = await loadByWrk(server.url, LOAD);
  return { ...found, cpuUs: before === undefined ? undefined : (server.cpuUs() - before) / found.requests };
}

function toResult(found) {
  const checks = new Checks();
  const { ratio, span } = ratios(timesOf(found.bare), timesOf(found.service));
  const row = (name, results) => ({
    server: name,
    'requests/s': perSecond(timesOf(results)),
    'p50 ms': median(results.map(({ p50Us }) => p50Us)) / 1_000,
    'p99 ms': median(results.map(({ p99Us }) => p99Us)) / 1_000,
    'cpu us a request': results[0].cpuUs === undefined ? '' : median(results.map(({ cpuUs }) => cpuUs)),
  });
  const what = `requests, of a bare route, ${LOAD.connections} connections`;
  const required = checks.atLeast(what, ratio, AT_LEAST);
  const rows = [
    row('bare Fastify', found.bare),
    { ...row('Evenhand', found.service), 'of bare': ratio, 'middle half': span, required },
  ];
  const title = `http: POST ${PATH}, ${LOAD.connections} connections, ${found.bare.length} rounds of ${LOAD.seconds} s in turn, ${LAUNCHES} launches`;
  return { tables: [{ title, rows }], checks: checks.list };
}

function timesOf(results) {
  return results.map(({ usPerRequest }) => usPerRequest);
}

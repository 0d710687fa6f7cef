import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { addTallies, proxyLines, shareOf } from '../support/fair.share.js';
import { startRedis, type RedisServer } from '../support/redis.server.js';
import { type SelectionApp, startSelection } from '../support/selection.app.js';
import { waitUntil } from '../support/wait.until.js';
import { type WorkerOptions, WorkerProcess } from '../support/worker.processes.js';

const POOL = 'shop';
const MEMBERS = 492;
const AT_ONCE = 4;
/** More than a worker selects before its first report is asked for, so that every outage meets it at work. */
const UNDER_WAY = 100;

let server: RedisServer;
let app: SelectionApp;
let workers: WorkerProcess[];

beforeEach(async () => {
  workers = [];
  server = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
  app = await startSelection(server.url);
  await app.pools.put(POOL);
  await app.pools.importMembers(POOL, { format: 'text', body: proxyLines(MEMBERS) });
});
afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.kill()));
  await app.close();
  await server.stop();
});

function startWorkers(count: number, options: Partial<WorkerOptions> = {}): void {
  workers = Array.from(
    { length: count },
    () => new WorkerProcess({ url: server.url, pool: POOL, atOnce: AT_ONCE, ...options }),
  );
}

/** Resolves when every worker has had so many more selections delivered. */
async function waitForSelections(more: number): Promise<void> {
  await Promise.all(
    workers.map(async (worker) => {
      const before = (await worker.report()).delivered;
      const hasMore = async () => (await worker.report()).delivered >= before + more;
      await waitUntil(hasMore, { deadlineMs: 30_000, what: 'the workers to select' });
    }),
  );
}

test('eight processes with 2,000 selections each over 492 members: each is selected 32 or 33 times', async () => {
  startWorkers(8, { selections: 2_000 });
  const reports = await Promise.all(workers.map((worker) => worker.finished()));
  const { counts, ...share } = await shareOf(app, POOL);
  expect(share).toEqual({ assigned: 16_000, sum: 16_000, min: 32, max: 33 });
  expect(addTallies(reports.map(({ tally }) => tally))).toEqual(counts);
});

test('SCRIPT FLUSH and kill -9 of Redis under load: no error but REDIS_UNAVAILABLE, and the counts are right', async () => {
  const kills = 3;
  startWorkers(4);
  await waitForSelections(UNDER_WAY);
  for (let n = 0; n < kills; n++) {
    await server.client().script('FLUSH');
    await waitForSelections(UNDER_WAY);
    await server.restart('SIGKILL');
    await waitForSelections(UNDER_WAY);
  }
  const reports = await Promise.all(workers.map((worker) => worker.end()));

  for (const { failures } of reports) expect(Object.keys(failures)).toEqual(['REDIS_UNAVAILABLE']);
  const delivered = reports.reduce((sum, report) => sum + report.delivered, 0);
  // This process has its own connection, which may still be on its way back.
  const { assigned, sum, min, max } = await waitUntil(() => shareOf(app, POOL));
  expect(assigned).toBeGreaterThanOrEqual(delivered);
  // Every call that was under way when Redis was killed may have been counted without an answer.
  expect(assigned).toBeLessThanOrEqual(delivered + kills * workers.length * AT_ONCE);
  expect(sum).toBe(assigned);
  expect(max - min).toBeLessThanOrEqual(1);
});

test('SCRIPT FLUSH alone fails no call', async () => {
  startWorkers(2);
  await waitForSelections(UNDER_WAY);
  for (let n = 0; n < 10; n++) {
    await server.client().script('FLUSH');
    await waitForSelections(UNDER_WAY);
  }
  const reports = await Promise.all(workers.map((worker) => worker.end()));
  expect(reports.map(({ failures }) => failures)).toEqual([{}, {}]);
  const delivered = reports.reduce((sum, report) => sum + report.delivered, 0);
  expect(await shareOf(app, POOL)).toMatchObject({ assigned: delivered, sum: delivered });
});

test('kill -9 of workers loses nothing: the others go on, and every member has its even share', async () => {
  startWorkers(4);
  await waitForSelections(UNDER_WAY);
  const [first, second, ...others] = workers as [WorkerProcess, WorkerProcess, ...WorkerProcess[]];
  await Promise.all([first.kill(), second.kill()]);
  workers = others;
  await waitForSelections(UNDER_WAY);
  await Promise.all(workers.map((worker) => worker.end()));
  const { assigned, sum, min, max } = await shareOf(app, POOL);
  expect(sum).toBe(assigned);
  expect(max - min).toBeLessThanOrEqual(1);
});

import { describe, expect, test } from '@jest/globals';
import { LauncherCallError } from '../../../src/dispatch/launcher/launcher.js';
import { giveQueue, jobs, startDispatch, untilJob, untilQueue } from '../../support/dispatch.app.js';
import { jobOf } from '../../support/external.ids.js';
import { refusing } from '../../support/fleet.launcher.js';
import { useDispatch } from '../../support/use.dispatch.js';
import { waitUntil } from '../../support/wait.until.js';

const setup = useDispatch();

describe('a requestId', () => {
  test('that is used again after it was forgotten is another request, and what nodes remember of the first is not taken for it', async () => {
    const { app, fleet, redis } = setup;
    await giveQueue(app, { keepMs: 1_000, limit: 1 });
    const first = await app.dispatch.submit('crawls', { requestId: 'order-1', jobs: jobs(1) });
    await setup.runAll(1);
    await waitUntil(async () => (await redis.keys(`*${first.id}`)).length === 0, { what: 'it to be forgotten' });
    await app.dispatch.submit('crawls', { requestId: 'order-1', jobs: jobs(1) });
    await waitUntil(() => fleet.live.length === 1, { what: 'its job to be started' });
    expect(await untilQueue(app, 'it to run', ({ running }) => running === 1)).toMatchObject({ finished: 1 });
    await setup.runAll(2);
    expect(new Set(fleet.starts.map(({ externalId }) => externalId)).size).toBe(2);
  });

  test('in two queues is two requests, also for a node that they share', async () => {
    const { app, fleet } = setup;
    const settings = await giveQueue(app);
    const { pool, limit, launcher, pollMs, leaseTtlMs } = settings;
    await app.dispatch.put('others', { pool, limit, launcher, pollMs, leaseTtlMs });
    for (const queue of ['crawls', 'others']) {
      await app.dispatch.submit(queue, { requestId: 'order-1', jobs: jobs(1) });
      await waitUntil(async () => (await app.dispatch.get(queue)).running === 1, { what: `${queue} to run one` });
    }
    fleet.finish(fleet.starts[0]);
    await untilQueue(app, 'its job to finish', ({ finished }) => finished === 1);
    expect(fleet.live).toHaveLength(1);
    expect(await app.dispatch.get('others')).toMatchObject({ running: 1, finished: 0 });
  });
});

describe('while a queue waits for a node', () => {
  test.each<[string, (id: string) => Promise<unknown>]>([
    ['its request is cancelled', (id) => setup.app.dispatch.cancelRequest('crawls', id)],
    ['it is paused', () => setup.app.dispatch.pause('crawls')],
    ['it is deleted', () => setup.app.dispatch.delete('crawls', { force: true })],
  ])('and %s, the node that it then gets is given back', async (_what, change) => {
    const { app, redis } = setup;
    await giveQueue(app, { capacity: 1 });
    const held = await app.selection.select('nodes', { ttlMs: 60_000 });
    const { id } = await app.dispatch.submit('crawls', { jobs: jobs(1) });
    const isWaiting = async () => (await redis.keys('*{nodes}:*wait*')).length > 0;
    await waitUntil(isWaiting, { what: 'the queue to stand in line' });
    await change(id);
    await app.selection.abandon('nodes', held.selection?.lease?.id ?? '');
    let taken = 0;
    await waitUntil(async () => (taken += await setup.inFlight()) > 0 || (await redis.keys('*wait*')).length === 0, {
      what: 'the node to be given to it',
    });
    await waitUntil(async () => (await setup.inFlight()) === 0, {
      what: 'the node to be given back',
      deadlineMs: 4_000,
    });
  });

  test('and the process ends, it does not wait for a node that says nothing', async () => {
    const { app, fleet, server } = setup;
    await giveQueue(app, { callMs: 60_000 });
    let isAsked = false;
    fleet.load = () => {
      isAsked = true;
      return new Promise(() => undefined);
    };
    await app.dispatch.submit('crawls', { jobs: jobs(1) });
    await waitUntil(() => isAsked, { what: 'the node to be asked' });
    const closed = app.close();
    setup.app = await startDispatch(server.url);
    let isClosed = false;
    void closed.then(() => (isClosed = true));
    await waitUntil(() => isClosed, { what: 'the process to end' });
    expect(await setup.inFlight()).toBe(0);
    const { finished } = await untilQueue(setup.app, 'the other to start it', ({ running }) => running === 1);
    expect(finished).toBe(0);
  });
});

test('a running job stays with the launcher that started it, whatever its queue is set to', async () => {
  const { app, fleet } = setup;
  await giveQueue(app, { limit: 2, loss: { afterMs: 1_000, unreachableMs: 1_000 } });
  const { jobs: ids } = await app.dispatch.submit('crawls', { jobs: jobs(1) });
  await untilQueue(app, 'it to run', ({ running }) => running === 1);
  await app.dispatch.patch('crawls', { launcher: { type: 'scrapyd', project: 'shop', spider: 'crawl' } });
  let asked = 0;
  const status = fleet.status.bind(fleet);
  fleet.status = (...args) => {
    asked += 1;
    return status(...args);
  };
  // Twelve looks are longer than a job that is unknown, or a node that says nothing, is given.
  await waitUntil(() => asked >= 12, { what: 'its node to be asked' });
  fleet.finish();
  expect(await untilJob(app, ids[0] ?? '', ({ state }) => state === 'finished')).toMatchObject({ attempts: 1 });
});

describe('what is cancelled', () => {
  test('job by job leaves nothing of its request behind', async () => {
    const { app, redis } = setup;
    await giveQueue(app, { keepMs: 1_000 });
    await app.dispatch.pause('crawls');
    const { id, jobs: ids } = await app.dispatch.submit('crawls', { jobs: jobs(2) });
    for (const job of ids) await app.dispatch.cancelJob('crawls', job);
    const isForgotten = async () => (await redis.keys(`*${id}`)).length === 0;
    await waitUntil(isForgotten, { what: 'it to be forgotten' });
    await app.dispatch.resume('crawls');
    await app.dispatch.submit('crawls', { jobs: jobs(1) });
    await setup.runAll(1);
    expect(await redis.keys(`*${id}`)).toEqual([]);
  });

  test('while it waits to be started again is out of the line', async () => {
    const { app, fleet, redis } = setup;
    await giveQueue(app, { retry: { backoffMs: 60_000 } });
    fleet.onStart.set('node-1', refusing('not now'));
    const { id } = await app.dispatch.submit('crawls', { jobs: jobs(3) });
    await untilQueue(app, 'all to have failed once', () => true);
    const waiting = async () => redis.zcard('evenhand:dispatch:{crawls}:retries');
    await waitUntil(async () => (await waiting()) === 3, { what: 'all to wait for their next start' });
    await app.dispatch.cancelRequest('crawls', id);
    expect(await waiting()).toBe(0);
    expect(await app.dispatch.getRequest('crawls', id)).toMatchObject({ jobs: { cancelled: 3, waiting: 0 } });
    const { endedAt } = await app.dispatch.getRequest('crawls', id);
    expect(await app.dispatch.cancelRequest('crawls', id)).toMatchObject({ endedAt });
  });

  test('is said in the log, once, and why the node could not be asked to end it', async () => {
    const { app, fleet } = setup;
    await giveQueue(app, { limit: 2 });
    const { id, jobs: ids } = await app.dispatch.submit('crawls', { jobs: jobs(2) });
    await untilQueue(app, 'both to run', ({ running }) => running === 2);
    const asked: string[] = [];
    fleet.cancel = (_node, { externalId }) => {
      asked.push(jobOf(externalId));
      return Promise.reject(new LauncherCallError('the node answered 401'));
    };
    const untilAsked = (times: number, job: string) =>
      waitUntil(() => asked.filter((each) => each === job).length >= times, { what: `${times} asks about ${job}` });
    const linesOf = async (job = '') => (await app.dispatch.getJob('crawls', job)).log.map(({ line }) => line);
    const { log } = await app.dispatch.cancelJob('crawls', ids[0] ?? '');
    expect(log.at(-1)).toMatchObject({ line: 'to be cancelled' });
    await app.dispatch.cancelRequest('crawls', id);
    await app.dispatch.cancelRequest('crawls', id);
    for (const job of ids) {
      await untilAsked(4, job);
      expect((await linesOf(job)).slice(1)).toEqual([
        'to be cancelled',
        'node-1 could not be asked to end it: the node answered 401',
      ]);
    }
    for (const job of fleet.live) fleet.finish(job);
    await untilQueue(app, 'both to have left', ({ cancelled }) => cancelled === 2);
  });

  test('and is lost then has ended as cancelled, and is told as that alone', async () => {
    const { app, fleet } = setup;
    const told: string[] = [];
    for (const name of ['lost', 'cancelled', 'failed'] as const) app.events.on(name, () => told.push(name));
    await giveQueue(app, { limit: 1, loss: { afterMs: 1_000 } });
    const { jobs: ids } = await app.dispatch.submit('crawls', { jobs: jobs(1) });
    await untilQueue(app, 'it to run', ({ running }) => running === 1);
    fleet.cancel = () => Promise.resolve();
    fleet.starts.splice(0);
    await app.dispatch.cancelJob('crawls', ids[0] ?? '');
    await untilJob(app, ids[0] ?? '', ({ state }) => state === 'cancelled');
    await waitUntil(() => told.length > 0, { what: 'the host to be told' });
    expect(told).toEqual(['cancelled']);
    await setup.idle();
  });
});

test('a record keeps the address of its node no longer than it is needed', async () => {
  const { app, redis } = setup;
  await giveQueue(app);
  const { id } = await app.dispatch.submit('crawls', { jobs: jobs(1) });
  await untilQueue(app, 'it to run', ({ running }) => running === 1);
  const record = () => redis.hget(`evenhand:dispatch:{crawls}:jobs:${id}`, '0');
  expect(await record()).toContain('"address"');
  await setup.runAll(1);
  expect(await record()).not.toMatch(/"address"|"launcher"/);
});

test.each(['-5', '0.5', 'Infinity', 'x'])('%s is not taken for a cursor', async (text) => {
  const { app } = setup;
  await giveQueue(app);
  const { id } = await app.dispatch.submit('crawls', { jobs: jobs(1) });
  const cursor = Buffer.from(text).toString('base64url');
  const refused = { code: 'VALIDATION_FAILED', problems: [{ path: 'cursor' }] };
  await expect(app.dispatch.listRequests('crawls', { cursor })).rejects.toMatchObject(refused);
  await expect(app.dispatch.listJobs('crawls', id, { cursor })).rejects.toMatchObject(refused);
});

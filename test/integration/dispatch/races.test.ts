import { describe, expect, test } from '@jest/globals';
import { JobRunner } from '../../../src/dispatch/job.runner.js';
import { JobStore } from '../../../src/dispatch/job.store.js';
import { RequestIntake } from '../../../src/dispatch/request.intake.js';
import { RunQueue } from '../../../src/dispatch/run.queue.js';
import type { DueIndex } from '../../../src/pool/due.index.js';
import { giveQueue, jobs, untilJob, untilQueue } from '../../support/dispatch.app.js';
import { useDispatch } from '../../support/use.dispatch.js';
import { waitUntil } from '../../support/wait.until.js';

const setup = useDispatch();

/** One job that runs, and how its first attempt is called. */
async function runOne() {
  const { app } = setup;
  await giveQueue(app);
  const { id, jobs: ids } = await app.dispatch.submit('crawls', { jobs: jobs(1) });
  const [job = ''] = ids;
  await untilJob(app, job, ({ state }) => state === 'running');
  return { job, ref: { queue: 'crawls', request: id, number: 0, attempt: 1 } };
}

test('whoever watches a job that somebody else has taken over leaves it', async () => {
  const { app, fleet } = setup;
  const { job, ref } = await runOne();
  const runner = app.context.get(JobRunner);
  const closing = new AbortController();
  const second = runner.run(ref, closing.signal);
  await fleet.untilAsked(2);
  const third = runner.run(ref, closing.signal);
  await second;
  expect(await app.dispatch.getJob('crawls', job)).toMatchObject({ state: 'running' });
  fleet.finish();
  await third;
  expect(await app.dispatch.getJob('crawls', job)).toMatchObject({ state: 'finished', attempts: 1 });
  await setup.idle();
});

test('a step of one who has lost the job to another is not taken', async () => {
  const { app } = setup;
  const { job, ref } = await runOne();
  const store = app.context.get(JobStore);
  await store.adopt(ref, 'me');
  await store.adopt(ref, 'you');
  const step = { before: 'running', state: 'finished' } as const;
  expect(await store.stepper(ref, 'me', step, 60_000)()).toBeUndefined();
  expect(await app.dispatch.getJob('crawls', job)).toMatchObject({ state: 'running' });
  expect(await store.stepper(ref, 'you', step, 60_000)()).toMatchObject({ state: 'finished' });
});

test('a step that is repeated when the job has been claimed anew is not taken for one of that attempt', async () => {
  const { app } = setup;
  const { job, ref } = await runOne();
  // The next attempt is claimed, and comes into nobody's hands.
  app.context.get(RunQueue).add = () => Promise.resolve();
  const store = app.context.get(JobStore);
  await store.adopt(ref, 'me');
  const step = store.stepper(ref, 'me', { before: 'running', state: 'waiting' }, 60_000);
  expect(await step()).toMatchObject({ state: 'waiting' });
  await untilJob(app, job, ({ attempts }) => attempts === 2);
  expect(await step()).toBeUndefined();
});

describe('a request', () => {
  test('that takes long to be taken in is looked at all the same', async () => {
    const { app, redis } = setup;
    await giveQueue(app);
    await app.dispatch.pause('crawls');
    const { due } = app.context.get<unknown, { due: DueIndex }>(RequestIntake);
    const register = due.register.bind(due);
    let isFirst = true;
    due.register = async (queue) => {
      await register(queue);
      // Somebody has looked meanwhile, and found nothing yet.
      if (isFirst) await redis.del('evenhand:queues-due');
      isFirst = false;
    };
    await app.dispatch.submit('crawls', { jobs: jobs(1) });
    expect(await redis.exists('evenhand:queues-due')).toBe(1);
  });

  test('that is sent again is known, whatever its queue takes by now', async () => {
    const { app } = setup;
    const launcher = { type: 'scrapyd', project: 'shop' };
    await giveQueue(app, { launcher: { ...launcher, spider: 'crawl' } });
    await app.dispatch.pause('crawls');
    const request = { requestId: 'order-1', jobs: [{ payload: {} }] };
    const first = await app.dispatch.submit('crawls', request);
    await app.dispatch.patch('crawls', { launcher });
    expect(await app.dispatch.submit('crawls', request)).toEqual(first);
    const other = app.dispatch.submit('crawls', { ...request, requestId: 'order-2' });
    await expect(other).rejects.toMatchObject({ problems: [{ path: 'jobs.0.payload.spider' }] });
  });

  test('that holds something else than JSON is refused', async () => {
    const { app } = setup;
    await giveQueue(app);
    const circle: Record<string, unknown> = {};
    circle['self'] = circle;
    for (const payload of [{ big: 1n }, circle]) {
      const call = app.dispatch.submit('crawls', { jobs: [{ payload }] });
      await expect(call).rejects.toMatchObject({ problems: [{ path: 'jobs.0.payload', message: 'must be JSON' }] });
    }
  });

  test('whose jobs are cancelled one by one keeps no place in line', async () => {
    const { app, redis } = setup;
    await giveQueue(app, { limit: 1 });
    await app.dispatch.pause('crawls');
    const inLine = () => redis.zcard('evenhand:dispatch:{crawls}:line');
    const { jobs: gone } = await app.dispatch.submit('crawls', { jobs: jobs(2) });
    for (const id of gone) await app.dispatch.cancelJob('crawls', id);
    expect(await inLine()).toBe(0);
    // The last one that waits is the first of them, and is started.
    const { jobs: ids } = await app.dispatch.submit('crawls', { jobs: jobs(2) });
    await app.dispatch.cancelJob('crawls', ids[1] ?? '');
    expect(await inLine()).toBe(1);
    await app.dispatch.resume('crawls');
    await untilJob(app, ids[0] ?? '', ({ state }) => state === 'running');
    expect(await inLine()).toBe(0);
  });
});

describe('a node', () => {
  test('is not drawn for ever where more rest than a selection can leave out', async () => {
    const { app, fleet } = setup;
    const nodes = Array.from({ length: 230 }, (_, n) => `node-${n}`);
    for (const node of nodes) fleet.silent.add(node);
    await giveQueue(app, { nodes, retry: { backoffMs: 60_000 } });
    await app.dispatch.submit('crawls', { jobs: jobs(1) });
    await untilQueue(app, 'all to rest', ({ nodes }) => nodes.length === 230, 60_000);
    await untilQueue(app, 'it to be given up for now', ({ blocked }) => blocked === 'NO_MATCH');
  }, 90_000);

  test('that answers later than it is leased for is not relied on', async () => {
    const { app, fleet } = setup;
    await giveQueue(app, { capacity: 1, leaseTtlMs: 3_000, callMs: 10_000 });
    let answer: (count: number) => void = () => undefined;
    const load = fleet.load.bind(fleet);
    fleet.load = () => new Promise((resolve) => (answer = resolve));
    await app.dispatch.submit('crawls', { jobs: jobs(1) });
    await waitUntil(async () => (await setup.inFlight()) === 1, { what: 'the node to be leased' });
    await waitUntil(async () => (await setup.inFlight()) === 0, { what: 'the lease to expire' });
    const other = await app.selection.select('nodes', { ttlMs: 60_000 });
    fleet.load = load;
    answer(0);
    await untilQueue(app, 'it to be given up for now', ({ blocked }) => blocked !== null);
    expect(fleet.starts).toEqual([]);
    await app.selection.abandon('nodes', other.selection?.lease?.id ?? '');
    await setup.runAll(1);
  });
});

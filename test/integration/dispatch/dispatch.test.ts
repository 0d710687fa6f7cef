import { describe, expect, test } from '@jest/globals';
import { giveQueue, jobs, startDispatch, untilJob, untilQueue } from '../../support/dispatch.app.js';
import { useDispatch } from '../../support/use.dispatch.js';
import { waitUntil } from '../../support/wait.until.js';

const setup = useDispatch();

describe('a queue', () => {
  test('starts its jobs in their order, never more than its limit at once, and gives every node back', async () => {
    const { app, fleet } = setup;
    await giveQueue(app, { nodes: ['node-1', 'node-2'], limit: 3 });
    const first = await app.dispatch.submit('crawls', { jobs: jobs(6) });
    const second = await app.dispatch.submit('crawls', { jobs: jobs(4) });
    await untilQueue(app, 'three to run', ({ running }) => running === 3);
    expect(await setup.inFlight()).toBe(3);
    await setup.runAll(10);
    expect(fleet.order).toEqual([...first.jobs, ...second.jobs]);
    expect(fleet.most).toBe(3);
    await setup.idle();
    expect(await app.dispatch.get('crawls')).toMatchObject({ waiting: 0, starting: 0, running: 0, nodes: [] });
    expect(await app.dispatch.getRequest('crawls', first.id)).toMatchObject({
      total: 6,
      jobs: { finished: 6, waiting: 0 },
      endedAt: expect.any(String),
    });
  });

  test('starts requests of a higher priority first, and those of the same in the order of their arrival', async () => {
    const { app, fleet } = setup;
    await giveQueue(app, { limit: 1 });
    await app.dispatch.pause('crawls');
    const low = await app.dispatch.submit('crawls', { jobs: jobs(2) });
    const high = await app.dispatch.submit('crawls', { priority: 5, jobs: jobs(2) });
    const higher = await app.dispatch.submit('crawls', { priority: 9, jobs: jobs(1) });
    const again = await app.dispatch.submit('crawls', { priority: 5, jobs: jobs(1) });
    await app.dispatch.resume('crawls');
    await setup.runAll(6);
    expect(fleet.order).toEqual([...higher.jobs, ...high.jobs, ...again.jobs, ...low.jobs]);
  });

  test('follows its limit: down without ending anything, and up at once', async () => {
    const { app, fleet } = setup;
    await giveQueue(app, { nodes: ['node-1', 'node-2'], limit: 4 });
    await app.dispatch.submit('crawls', { jobs: jobs(20) });
    await untilQueue(app, 'four to run', ({ running }) => running === 4);
    await app.dispatch.patch('crawls', { limit: 1 });
    for (let left = 3; left >= 1; left--) {
      fleet.finish();
      await untilQueue(app, `${left} to run`, ({ running, starting }) => running + starting === left);
      expect(fleet.starts).toHaveLength(4);
    }
    fleet.finish();
    await untilQueue(app, 'the fifth to run', ({ finished, running }) => finished === 4 && running === 1);
    expect(fleet.starts).toHaveLength(5);
    await app.dispatch.patch('crawls', { limit: 6 });
    await untilQueue(app, 'six to run', ({ running }) => running === 6);
    expect(fleet.most).toBe(6);
    await setup.runAll(20);
    expect(fleet.most).toBe(6);
    await setup.idle();
  });

  test('starts nothing while it is paused, and what runs goes on', async () => {
    const { app, fleet } = setup;
    await giveQueue(app, { limit: 1 });
    await app.dispatch.submit('crawls', { jobs: jobs(3) });
    await untilQueue(app, 'one to run', ({ running }) => running === 1);
    expect(await app.dispatch.pause('crawls')).toMatchObject({ paused: true });
    fleet.finish();
    await untilQueue(app, 'it to finish', ({ finished }) => finished === 1);
    await app.dispatch.put('crawls');
    await app.dispatch.patch('crawls', { limit: 2 });
    // Two looks of the upkeep: what would start something has had its turn.
    await waitForLooks(2);
    expect(fleet.starts).toHaveLength(1);
    expect(await app.dispatch.resume('crawls')).toMatchObject({ paused: false });
    await setup.runAll(3);
  });

  test('puts jobs where the fewest run, up to the capacity of each node', async () => {
    const { app, fleet } = setup;
    await giveQueue(app, { nodes: ['node-1', 'node-2', 'node-3'], capacity: 2, limit: 100 });
    await app.dispatch.submit('crawls', { jobs: jobs(7) });
    const queue = await untilQueue(app, 'all nodes to be full', ({ running }) => running === 6);
    expect(queue.nodes.map(({ id, running }) => [id, running])).toEqual([
      ['node-1', 2],
      ['node-2', 2],
      ['node-3', 2],
    ]);
    expect(new Set(fleet.starts.slice(0, 3).map(({ node }) => node)).size).toBe(3);
    await setup.runAll(7);
    await setup.idle();
  });

  test('counts what others have put on a node', async () => {
    const { app, fleet } = setup;
    fleet.foreign.set('node-1', 3);
    await giveQueue(app, { capacity: 4, limit: 100 });
    await app.dispatch.submit('crawls', { jobs: jobs(3) });
    const queue = await untilQueue(
      app,
      'it to see that the node is full',
      ({ nodes }) => typeof nodes[0]?.reason === 'string',
    );
    expect(queue).toMatchObject({ running: 1, waiting: 2 });
    expect(queue.nodes[0]?.reason).toBe('the node itself counts 4 jobs, of at most 4');
    fleet.foreign.set('node-1', 2);
    await untilQueue(app, 'the second to run', ({ running }) => running === 2);
    fleet.foreign.delete('node-1');
    await untilQueue(app, 'the third to run', ({ running }) => running === 3);
    expect(fleet.most).toBe(3);
  });

  test('uses a node that is added at once, and gives none to one that is removed', async () => {
    const { app, fleet } = setup;
    await giveQueue(app, { nodes: [], limit: 3 });
    await app.dispatch.submit('crawls', { jobs: jobs(6) });
    await untilQueue(app, 'it to say why nothing starts', ({ blocked }) => blocked === 'EMPTY_POOL');
    await giveQueue(app, { nodes: ['late'], limit: 3 });
    await untilQueue(app, 'three to run on it', ({ running }) => running === 3);
    await app.pools.removeMember('nodes', 'late');
    await giveQueue(app, { nodes: ['later'], limit: 3 });
    // What runs on a node that is gone is followed to its end.
    await setup.runAll(6);
    expect(fleet.starts.map(({ node }) => node)).toEqual(['late', 'late', 'late', 'later', 'later', 'later']);
    await setup.idle();
  });

  test('shares nodes with another queue, and neither keeps them from the other', async () => {
    const { app, fleet } = setup;
    const { name: _name, ...settings } = {
      name: '',
      pool: 'nodes',
      limit: 10,
      launcher: { type: 'fleet' },
      pollMs: 100,
    };
    await giveQueue(app, { capacity: 2, limit: 10 });
    await app.dispatch.put('tests', { ...settings, leaseTtlMs: 5_000 });
    await app.dispatch.submit('crawls', { jobs: jobs(8) });
    const others = await app.dispatch.submit('tests', { jobs: jobs(4) });
    await setup.runAll(8);
    const places = others.jobs.map((id) => fleet.order.indexOf(id)).filter((place) => place >= 0);
    // One that only looked now and then would come behind all of the first queue.
    expect(Math.min(...places)).toBeLessThan(6);
    expect(fleet.most).toBe(2);
  });
});

describe('a request', () => {
  test('is one request when it is sent twice with its requestId, and refused when it is another', async () => {
    const { app } = setup;
    await giveQueue(app);
    await app.dispatch.pause('crawls');
    const request = {
      requestId: 'order-7',
      owner: 'shop',
      jobs: [{ payload: { a: 1, b: { c: 2, d: 3 } } }, ...jobs(2)],
    };
    const written = {
      jobs: [{ payload: { b: { d: 3, c: 2 }, a: 1 } }, ...jobs(2)],
      owner: 'shop',
      requestId: 'order-7',
    };
    const [first, second] = await Promise.all([
      app.dispatch.submit('crawls', request),
      app.dispatch.submit('crawls', written),
    ]);
    expect(second).toEqual(first);
    expect(await app.dispatch.get('crawls')).toMatchObject({ waiting: 3 });
    await expect(app.dispatch.submit('crawls', { ...request, jobs: jobs(2) })).rejects.toMatchObject({
      code: 'REQUEST_ID_REUSED',
    });
    expect((await app.dispatch.listRequests('crawls')).requests).toMatchObject([
      { requestId: 'order-7', owner: 'shop' },
    ]);
  });

  test('is refused whole when one of its payloads is not what the launcher takes', async () => {
    const { app } = setup;
    await giveQueue(app);
    const wrong = { jobs: [...jobs(2), { payload: { bad: 1 } }] };
    await expect(app.dispatch.submit('crawls', wrong)).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      problems: [{ path: 'jobs.2.payload.bad', message: 'must not be there' }],
    });
    expect(await app.dispatch.get('crawls')).toMatchObject({ waiting: 0 });
  });

  test('of 10,000 jobs is taken in whole, listed in pages and cancelled', async () => {
    const { app, fleet } = setup;
    await giveQueue(app, { limit: 5 });
    const receipt = await app.dispatch.submit('crawls', { jobs: jobs(10_000) });
    expect(new Set(receipt.jobs).size).toBe(10_000);
    await untilQueue(app, 'five to run', ({ running }) => running === 5);
    expect(await app.dispatch.get('crawls')).toMatchObject({ waiting: 9_995 });
    const page = await app.dispatch.listJobs('crawls', receipt.id, { limit: 1_000 });
    expect(page.jobs.slice(0, 6).map(({ state }) => state)).toEqual([...Array<string>(5).fill('running'), 'waiting']);
    const next = await app.dispatch.listJobs('crawls', receipt.id, { limit: 2, cursor: page.nextCursor ?? '' });
    expect(next.jobs.map(({ payload }) => payload)).toEqual([{ n: 1_000 }, { n: 1_001 }]);
    await app.dispatch.cancelRequest('crawls', receipt.id);
    const queue = await untilQueue(app, 'all to have ended', ({ running, waiting }) => running + waiting === 0);
    expect(queue).toMatchObject({ cancelled: 10_000, finished: 0 });
    expect(fleet.live).toEqual([]);
    expect(await app.dispatch.getJob('crawls', receipt.jobs[9_999] ?? '')).toMatchObject({
      state: 'cancelled',
      attempts: 0,
    });
    await setup.idle();
  });

  test('is forgotten some time after the last of its jobs has ended, with all that was kept of it', async () => {
    const { app, redis } = setup;
    await giveQueue(app, { keepMs: 1_000 });
    const { id } = await app.dispatch.submit('crawls', { requestId: 'order-7', jobs: jobs(2) });
    await setup.runAll(2);
    await waitUntil(
      () =>
        app.dispatch.getRequest('crawls', id).then(
          () => false,
          (error: unknown) => (error as { code?: string }).code === 'REQUEST_NOT_FOUND',
        ),
      { what: 'it to be forgotten' },
    );
    expect(await redis.keys(`*${id}*`)).toEqual([]);
    const again = await app.dispatch.submit('crawls', { requestId: 'order-7', jobs: jobs(1) });
    expect(again.id).toBe(id);
    await setup.runAll(3);
    expect((await app.dispatch.listRequests('crawls')).requests).toHaveLength(1);
  });
});

describe('cancelling', () => {
  test('a job that waits ends it at once; it is passed over', async () => {
    const { app, fleet } = setup;
    await giveQueue(app, { limit: 1 });
    const { jobs: ids } = await app.dispatch.submit('crawls', { jobs: jobs(4) });
    await untilQueue(app, 'one to run', ({ running }) => running === 1);
    for (const id of [ids[1], ids[3]]) {
      expect(await app.dispatch.cancelJob('crawls', id ?? '')).toMatchObject({ state: 'cancelled' });
    }
    await app.dispatch.cancelJob('crawls', ids[1] ?? '');
    await setup.runAll(2);
    expect(fleet.order).toEqual([ids[0], ids[2]]);
    expect(await app.dispatch.get('crawls')).toMatchObject({ waiting: 0, cancelled: 2 });
    await setup.idle();
  });

  test('a job that runs asks its node once, whoever watches it, and ends it when it has left there', async () => {
    const { app, fleet } = setup;
    await giveQueue(app, { limit: 1 });
    const { jobs: ids } = await app.dispatch.submit('crawls', { jobs: jobs(2) });
    const [id = ''] = ids;
    await untilJob(app, id, ({ state }) => state === 'running');
    let asked = 0;
    fleet.cancel = async () => {
      asked += 1;
    };
    expect(await app.dispatch.cancelJob('crawls', id)).toMatchObject({ state: 'running' });
    await untilJob(app, id, ({ log }) => log.at(-1)?.line === 'asked node-1 to end it');
    await fleet.untilAsked(3);
    const other = await startDispatch(setup.server.url, fleet);
    await app.close();
    setup.app = other;
    await fleet.untilAsked(3);
    expect(asked).toBe(1);
    expect(await other.dispatch.getJob('crawls', id)).toMatchObject({ state: 'running' });
    expect(fleet.starts).toHaveLength(1);
    fleet.finish();
    await untilJob(other, id, ({ state }) => state === 'cancelled');
    await setup.runAll(1);
    expect(fleet.starts).toHaveLength(2);
  });

  test.each([0, 2])(
    'a request ends those of its jobs that wait (%i of them) at once, the others when they have left',
    async (waiting) => {
      const { app, fleet } = setup;
      await giveQueue(app, { limit: 2 });
      const { id } = await app.dispatch.submit('crawls', { jobs: jobs(2 + waiting) });
      await untilQueue(app, 'two to run', ({ running }) => running === 2);
      const asked = new Set<string>();
      fleet.cancel = async (_node, { externalId }) => {
        asked.add(externalId);
      };
      const cancelled = await app.dispatch.cancelRequest('crawls', id);
      expect(cancelled).toMatchObject({ jobs: { waiting: 0, running: 2, cancelled: waiting }, endedAt: null });
      expect(await app.dispatch.cancelRequest('crawls', id)).toEqual(cancelled);
      await waitUntil(() => asked.size === 2, { what: 'their node to be asked to end both' });
      for (const job of fleet.live) fleet.finish(job);
      await untilQueue(app, 'all to have ended', (queue) => queue.cancelled === 2 + waiting);
      expect(await app.dispatch.getRequest('crawls', id)).toMatchObject({ endedAt: expect.any(String) });
      expect(fleet.starts).toHaveLength(2);
      await setup.idle();
    },
  );
});

describe('deleting a queue', () => {
  test('is refused while it has jobs, and leaves nothing behind', async () => {
    const { app, fleet, redis } = setup;
    await giveQueue(app, { limit: 1 });
    await app.dispatch.submit('crawls', { jobs: jobs(2) });
    await untilQueue(app, 'one to run', ({ running }) => running === 1);
    await expect(app.dispatch.delete('crawls', { force: true })).rejects.toMatchObject({ code: 'QUEUE_BUSY' });
    await app.dispatch.pause('crawls');
    fleet.finish();
    await untilQueue(app, 'it to finish', ({ finished }) => finished === 1);
    await expect(app.dispatch.delete('crawls')).rejects.toMatchObject({ code: 'QUEUE_BUSY' });
    await app.dispatch.delete('crawls', { force: true });
    await expect(app.dispatch.get('crawls')).rejects.toMatchObject({ code: 'QUEUE_NOT_FOUND' });
    await expect(app.dispatch.delete('crawls')).rejects.toMatchObject({ code: 'QUEUE_NOT_FOUND' });
    expect((await app.dispatch.list()).queues).toEqual([]);
    expect(await redis.keys('*{crawls}*')).toEqual([]);
    await waitUntil(async () => (await redis.exists('evenhand:queues-due')) === 0, { what: 'nobody to look at it' });
  });
});

describe('setting up a queue', () => {
  test.each([
    [{ limit: 1, launcher: { type: 'fleet' } }, 'VALIDATION_FAILED', 'pool'],
    [{ pool: 'nodes', launcher: { type: 'fleet' } }, 'VALIDATION_FAILED', 'limit'],
    [{ pool: 'nodes', limit: 1 }, 'VALIDATION_FAILED', 'launcher'],
    [{ pool: 'nodes', limit: 0, launcher: { type: 'fleet' } }, 'VALIDATION_FAILED', 'limit'],
    [{ pool: 'nodes', limit: 1, launcher: { type: 'fleet', colour: 1 } }, 'VALIDATION_FAILED', 'launcher.colour'],
    [{ pool: 'nodes', limit: 1, launcher: { type: 'fleet' }, colour: 1 }, 'VALIDATION_FAILED', 'colour'],
    [
      { pool: 'nodes', limit: 1, launcher: { type: 'fleet' }, leaseTtlMs: 3_600_000 },
      'VALIDATION_FAILED',
      'leaseTtlMs',
    ],
    [{ pool: 'counted', limit: 1, launcher: { type: 'fleet' } }, 'VALIDATION_FAILED', 'pool'],
    [{ pool: 'nobody', limit: 1, launcher: { type: 'fleet' } }, 'POOL_NOT_FOUND', undefined],
    [{ pool: 'nodes', limit: 1, launcher: { type: 'nobody' } }, 'LAUNCHER_UNKNOWN', undefined],
  ])('refuses %j', async (changes, code, path) => {
    const { app, redis } = setup;
    await app.pools.put('nodes', { strategy: 'least-concurrency', lease: { maxTtlMs: 100_000 } });
    await app.pools.put('counted', { strategy: 'least-assigned' });
    const error = await app.dispatch.put('crawls', changes).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code, ...(path === undefined ? {} : { problems: [{ path }] }) });
    expect(await redis.keys('*queue*')).toEqual([]);
  });

  test('keeps what is absent, and refuses to change a queue that is not there', async () => {
    const { app } = setup;
    await giveQueue(app, { limit: 2 });
    const { created, queue } = await app.dispatch.put('crawls', { loss: { retry: false } });
    expect(created).toBe(false);
    expect(queue).toMatchObject({
      limit: 2,
      loss: { retry: false, afterMs: 30_000 },
      retry: { backoffMs: 100, attempts: 3 },
    });
    await expect(app.dispatch.patch('nobody', { limit: 1 })).rejects.toMatchObject({ code: 'QUEUE_NOT_FOUND' });
  });
});

test('several processes share the work of one queue: the limit and the order hold', async () => {
  const { app, fleet, server } = setup;
  const others = await Promise.all([startDispatch(server.url, fleet), startDispatch(server.url, fleet)]);
  try {
    await giveQueue(app, { nodes: ['node-1', 'node-2', 'node-3'], limit: 4 });
    const receipts = [];
    for (const { dispatch } of [app, ...others]) receipts.push(await dispatch.submit('crawls', { jobs: jobs(20) }));
    await untilQueue(app, 'four to run', ({ running }) => running === 4);
    await setup.runAll(60, 60_000);
    expect(fleet.order).toEqual(receipts.flatMap(({ jobs: ids }) => ids));
    expect(fleet.most).toBe(4);
    await setup.idle();
  } finally {
    await Promise.all(others.map((other) => other.close()));
  }
});

/** Waits until the upkeep has looked at the queue so many times. */
async function waitForLooks(count: number): Promise<void> {
  const { redis } = setup;
  const next = () => redis.zscore('evenhand:queues-due', 'crawls');
  for (let n = 0; n < count; n++) {
    const before = await next();
    await waitUntil(async () => (await next()) !== before, { what: 'a look at the queue' });
  }
}

import { describe, expect, test } from '@jest/globals';
import { LaunchRefusedError, LauncherCallError } from '../../../src/dispatch/launcher/launcher.js';
import { giveQueue, jobs, startDispatch, untilJob, untilQueue } from '../../support/dispatch.app.js';
import { refusing } from '../../support/fleet.launcher.js';
import { useDispatch } from '../../support/use.dispatch.js';
import { waitUntil } from '../../support/wait.until.js';

const setup = useDispatch();

describe('a start that fails', () => {
  test('is tried again after a while, so many times, and then has failed with the reason', async () => {
    const { app, fleet } = setup;
    const failed: string[] = [];
    app.events.on('failed', ({ job }) => failed.push(job));
    await giveQueue(app, { retry: { attempts: 3, backoffMs: 100 } });
    fleet.onStart.set('node-1', refusing('no such spider'));
    const { jobs: ids } = await app.dispatch.submit('crawls', { jobs: jobs(1) });
    const job = await untilJob(app, ids[0] ?? '', ({ state }) => state === 'failed');
    expect(job).toMatchObject({ attempts: 3, reason: 'no such spider', endedAt: expect.any(String) });
    expect(job.log.map(({ line }) => line)).toEqual(Array<string>(3).fill('not started on node-1: no such spider'));
    await setup.idle();
    await waitUntil(() => failed.length > 0, { what: 'the host to be told' });
    expect(failed).toEqual(ids);
  });

  test.each([
    ['two lines', 'no\nsuch\tspider', 'no such spider'],
    ['a character cut in half', 'no such spider \ud83d', 'no such spider '],
    ['more than a line holds', 'x'.repeat(1_000), `${'x'.repeat(400)}…`],
    ['characters of several bytes', '中'.repeat(300), '中'.repeat(300)],
  ])('with a reason of %s is shown all the same', async (_what, message, reason) => {
    const { app, fleet } = setup;
    await giveQueue(app, { retry: { attempts: 1 } });
    fleet.onStart.set('node-1', refusing(message));
    const { jobs: ids } = await app.dispatch.submit('crawls', { jobs: jobs(1) });
    const job = await untilJob(app, ids[0] ?? '', ({ state }) => state === 'failed');
    expect(job).toMatchObject({ reason, log: [{ line: expect.stringContaining(reason.slice(0, 300)) }] });
    await setup.idle();
  });

  test('does not hold up the line, and comes back where it was', async () => {
    const { app, fleet } = setup;
    await giveQueue(app, { limit: 1, retry: { backoffMs: 200 } });
    let refused = 0;
    fleet.onStart.set('node-1', async (job) => {
      if (job.payload['n'] === 0 && refused++ === 0) throw new LaunchRefusedError('not now');
      fleet.accept(job);
    });
    const { jobs: ids } = await app.dispatch.submit('crawls', { jobs: jobs(40) });
    await setup.runAll(40);
    expect(fleet.order.indexOf(ids[0] ?? '')).toBeGreaterThan(0);
    expect(fleet.order.indexOf(ids[0] ?? '')).toBeLessThan(39);
    expect(new Set(fleet.order).size).toBe(40);
  });

  test("of the node's own fault keeps jobs off that node for a while", async () => {
    const { app, fleet } = setup;
    await giveQueue(app, { nodes: ['bad', 'good'], limit: 4, retry: { attempts: 10, backoffMs: 5_000 } });
    let told = 0;
    fleet.onStart.set('bad', () => {
      told += 1;
      return Promise.reject(new LaunchRefusedError('it refused the credentials', { fault: 'node' }));
    });
    await app.dispatch.submit('crawls', { jobs: jobs(9) });
    await setup.runAll(8);
    expect(told).toBe(1);
    expect((await app.dispatch.get('crawls')).nodes).toMatchObject([
      { id: 'bad', reason: 'it refused the credentials', restsUntil: expect.any(String) },
    ]);
  });

  test('whose answer was lost is asked about, and counted where the node has it', async () => {
    const { app, fleet } = setup;
    await giveQueue(app, { limit: 1 });
    fleet.onStart.set('node-1', async (job) => {
      fleet.accept(job);
      throw new LauncherCallError('the connection was cut');
    });
    await app.dispatch.submit('crawls', { jobs: jobs(2) });
    await setup.runAll(2);
    expect(fleet.starts).toHaveLength(2);
    await setup.idle();
  });

  test('whose answer was lost is tried again where the node does not have it', async () => {
    const { app, fleet } = setup;
    await giveQueue(app);
    let calls = 0;
    fleet.onStart.set('node-1', async (job) => {
      if (calls++ === 0) throw new LauncherCallError('the connection was cut');
      fleet.accept(job);
    });
    const { jobs: ids } = await app.dispatch.submit('crawls', { jobs: jobs(1) });
    await setup.runAll(1);
    expect(await app.dispatch.getJob('crawls', ids[0] ?? '')).toMatchObject({ attempts: 2, state: 'finished' });
    expect(fleet.starts).toHaveLength(1);
  });

  test('that never comes to an end is given up after the time of a call, and does not hold up the line for longer', async () => {
    const { app, fleet } = setup;
    await giveQueue(app, { nodes: ['hangs', 'works'], limit: 4, callMs: 300, retry: { backoffMs: 5_000 } });
    fleet.onStart.set('hangs', () => new Promise<void>(() => undefined));
    await app.dispatch.submit('crawls', { jobs: jobs(4) });
    await setup.runAll(3);
    expect(fleet.starts.map(({ node }) => node)).toEqual(['works', 'works', 'works']);
  });
});

describe('a job that its node does not know any more', () => {
  test('is lost after a while, and started again', async () => {
    const { app, fleet } = setup;
    const lost: string[] = [];
    app.events.on('lost', ({ job }) => lost.push(job));
    await giveQueue(app, { limit: 1, loss: { afterMs: 1_000 } });
    const { jobs: ids } = await app.dispatch.submit('crawls', { jobs: jobs(1) });
    const [id = ''] = ids;
    const first = await untilJob(app, id, ({ state }) => state === 'running');
    fleet.starts.splice(0);
    const again = await untilJob(app, id, ({ state, attempts }) => state === 'running' && attempts === 2);
    expect(again).toMatchObject({ externalId: expect.stringMatching(`^${id}-[0-9a-f]{12}$`), reason: null });
    expect(again.externalId).not.toBe(first.externalId);
    await waitUntil(() => lost.length > 0, { what: 'the host to be told' });
    expect(lost).toEqual([id]);
    await setup.runAll(1);
    await setup.idle();
  });

  test('ends as lost where the queue does not start it again, and its place is free', async () => {
    const { app, fleet } = setup;
    await giveQueue(app, { limit: 1, loss: { afterMs: 1_000, retry: false } });
    const { jobs: ids } = await app.dispatch.submit('crawls', { jobs: jobs(2) });
    await untilJob(app, ids[0] ?? '', ({ state }) => state === 'running');
    fleet.starts.splice(0);
    const job = await untilJob(app, ids[0] ?? '', ({ state }) => state === 'lost');
    expect(job).toMatchObject({ reason: 'node-1 does not know the job any more', attempts: 1 });
    await setup.runAll(1);
    expect(await app.dispatch.get('crawls')).toMatchObject({ lost: 1, finished: 1 });
    await setup.idle();
  });

  test('is not lost for a moment of it', async () => {
    const { app, fleet } = setup;
    await giveQueue(app, { limit: 1, loss: { afterMs: 3_000 } });
    const { jobs: ids } = await app.dispatch.submit('crawls', { jobs: jobs(1) });
    await untilJob(app, ids[0] ?? '', ({ state }) => state === 'running');
    const known = fleet.starts.splice(0);
    let asked = 0;
    const status = fleet.status.bind(fleet);
    fleet.status = (...args) => {
      asked += 1;
      return status(...args);
    };
    await waitUntil(() => asked >= 3, { what: 'the node to be asked three times' });
    fleet.starts.push(...known);
    await setup.runAll(1);
    expect(await app.dispatch.getJob('crawls', ids[0] ?? '')).toMatchObject({ attempts: 1 });
  });
});

describe('a node that gives no answer', () => {
  test('keeps its jobs, which go on when it is back', async () => {
    const { app, fleet } = setup;
    await giveQueue(app, { nodes: ['node-1', 'node-2'], limit: 4 });
    await app.dispatch.submit('crawls', { jobs: jobs(8) });
    await untilQueue(app, 'four to run', ({ running }) => running === 4);
    fleet.silent.add('node-1');
    for (const job of fleet.live) if (job.node === 'node-2') fleet.finish(job);
    await untilQueue(app, 'the other node to be used', ({ nodes }) => nodes.some(({ running }) => running === 2));
    await waitUntil(() => fleet.starts.length === 6, { what: 'two more to start' });
    expect(fleet.starts.slice(4).map(({ node }) => node)).toEqual(['node-2', 'node-2']);
    fleet.silent.delete('node-1');
    await setup.runAll(8);
    expect(fleet.starts).toHaveLength(8);
    await setup.idle();
  });

  test('loses its jobs when it has been away for long', async () => {
    const { app, fleet } = setup;
    await giveQueue(app, { nodes: ['gone', 'works'], limit: 2, loss: { unreachableMs: 1_000 } });
    await app.dispatch.submit('crawls', { jobs: jobs(2) });
    await untilQueue(app, 'both to run', ({ running }) => running === 2);
    fleet.silent.add('gone');
    await waitUntil(() => fleet.starts.length === 3, { what: 'the lost one to be started again' });
    await setup.runAll(2);
    expect(fleet.starts[2]?.node).toBe('works');
  });
});

describe('a process that goes', () => {
  test('hands its jobs over at once, and they are not started again', async () => {
    const { app, fleet, server } = setup;
    await giveQueue(app, { limit: 3 });
    await app.dispatch.submit('crawls', { jobs: jobs(6) });
    await untilQueue(app, 'three to run', ({ running }) => running === 3);
    const other = await startDispatch(server.url, fleet);
    await app.close();
    setup.app = other;
    await setup.runAll(6);
    expect(fleet.starts).toHaveLength(6);
    expect(fleet.most).toBe(3);
    await setup.idle();
  });

  test('while no other is there leaves them for the next', async () => {
    const { app, fleet, server } = setup;
    await giveQueue(app, { limit: 3 });
    await app.dispatch.submit('crawls', { jobs: jobs(6) });
    await untilQueue(app, 'three to run', ({ running }) => running === 3);
    await app.close();
    setup.app = await startDispatch(server.url, fleet);
    await setup.runAll(6);
    expect(fleet.starts).toHaveLength(6);
    expect(fleet.most).toBe(3);
    await setup.idle();
  });
});

import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type DispatchApp, giveQueue, jobs, startDispatch, untilQueue } from '../../support/dispatch.app.js';
import { useDispatch } from '../../support/use.dispatch.js';
import { waitUntil } from '../../support/wait.until.js';

const setup = useDispatch();
let lacking: DispatchApp;

beforeEach(async () => {
  lacking = await startDispatch(setup.server.url, undefined, { lacksLauncher: true });
});
afterEach(() => lacking.close());

describe('a process that lacks the launcher of a queue', () => {
  test('leaves its jobs to those that have it', async () => {
    const { app, fleet } = setup;
    await giveQueue(app, { limit: 2, nodes: ['node-1', 'node-2'] });
    await app.dispatch.submit('crawls', { jobs: jobs(6) });
    await setup.runAll(6);
    expect(fleet.starts).toHaveLength(6);
    expect(fleet.most).toBeLessThanOrEqual(2);
    expect(await app.dispatch.get('crawls')).toMatchObject({ lost: 0, failed: 0, nodes: [] });
    await setup.idle();
  });

  test('says so where no other is there, and neither loses nor starts a job', async () => {
    const { app, fleet, server } = setup;
    await giveQueue(app, { limit: 2, loss: { unreachableMs: 1_000, afterMs: 1_000 } });
    await app.dispatch.submit('crawls', { jobs: jobs(3) });
    await untilQueue(app, 'two to run', ({ running }) => running === 2);
    await app.close();
    const isPassedOn = async () => {
      const delayed = await setup.redis.zcard('evenhand:dispatch:{runs}:runs:delayed');
      return delayed === 2;
    };
    await waitUntil(isPassedOn, { what: 'its runs to be passed on' });
    const beganMs = performance.now();
    await waitUntil(() => performance.now() - beganMs > 2_500, { what: 'more than a loss to have passed' });
    expect(await lacking.dispatch.get('crawls')).toMatchObject({ running: 2, waiting: 1, lost: 0 });
    setup.app = await startDispatch(server.url, fleet);
    await setup.runAll(3);
    expect(fleet.starts).toHaveLength(3);
    await setup.idle();
  });

  test('takes no node for the next job, and says why', async () => {
    const { app, fleet, server } = setup;
    await giveQueue(app);
    await app.dispatch.pause('crawls');
    await app.dispatch.submit('crawls', { jobs: jobs(1) });
    await app.close();
    await lacking.dispatch.resume('crawls');
    const view = await untilQueue(lacking, 'it to say why', ({ blocked }) => blocked !== null);
    expect(view).toMatchObject({ blocked: 'LAUNCHER_UNKNOWN', waiting: 1 });
    expect(await setup.redis.keys('*resting*')).toEqual([]);
    setup.app = await startDispatch(server.url, fleet);
    await setup.runAll(1);
    await setup.idle();
  });
});

import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { CrawlServices } from '../support/crawl.services.js';
import { RedisMonitor } from '../support/redis.monitor.js';
import { TcpProxy } from '../support/tcp.proxy.js';
import { waitUntil } from '../support/wait.until.js';

const JOBS = 6;
const LIMIT = 2;

let crawls: CrawlServices;

beforeEach(async () => {
  crawls = await CrawlServices.start();
  await crawls.addService();
});
afterEach(() => crawls.stop());

/** Kills the only process that there is; what it has sent has been sent. */
async function kill(): Promise<void> {
  const { service } = crawls;
  await service.stop('SIGKILL');
}

/** Every job was started once, has finished, and no more ran at once than may; all places are free again. */
async function expectAllWell(ids: readonly string[]): Promise<void> {
  await crawls.untilIdle();
  expect(crawls.daemon.twice).toEqual([]);
  expect(crawls.daemon.startedJobs.sort()).toEqual([...ids].sort());
  expect(crawls.daemon.most).toBeLessThanOrEqual(LIMIT);
  expect(await crawls.queue()).toMatchObject({ finished: JOBS, failed: 0, lost: 0, cancelled: 0 });
}

describe('the process that starts and watches jobs is killed', () => {
  test('while it looks for a node, with a lease and no job yet', async () => {
    await crawls.addDaemon();
    await crawls.setUp({ limit: LIMIT });
    crawls.daemon.faults.set('daemonstatus.json', 'hangs');
    const { jobs } = await crawls.submit(JOBS);
    await waitUntil(() => crawls.daemon.calls['daemonstatus.json'] === 1, {
      what: 'the node to be asked for its load',
    });
    await kill();
    crawls.daemon.faults.clear();
    await crawls.addService();
    await expectAllWell(jobs);
  });

  test('when it has claimed a job, and may not have given it to anybody', async () => {
    await crawls.addDaemon();
    await crawls.setUp({ limit: LIMIT });
    const monitor = await RedisMonitor.start(crawls.redis.url);
    const { jobs } = await crawls.submit(JOBS);
    await monitor.untilSent('"lease":');
    await kill();
    await crawls.addService();
    await expectAllWell(jobs);
  });

  test('when it has written that it tells the node, and may not have told it', async () => {
    await crawls.addDaemon();
    await crawls.setUp({ limit: LIMIT });
    const monitor = await RedisMonitor.start(crawls.redis.url);
    const { jobs } = await crawls.submit(JOBS);
    await monitor.untilSent('{"isPosted":true}');
    await kill();
    await crawls.addService();
    await expectAllWell(jobs);
  });

  test('when it has told the node, which has not done anything yet', async () => {
    await crawls.addDaemon();
    await crawls.setUp({ limit: LIMIT });
    crawls.daemon.faults.set('schedule.json', 'hangs');
    const { jobs } = await crawls.submit(JOBS);
    await waitUntil(() => crawls.daemon.calls['schedule.json'] === 1, { what: 'the node to be told' });
    await kill();
    crawls.daemon.faults.clear();
    await crawls.addService();
    await expectAllWell(jobs);
  });

  test('when the node has taken the job, and has not answered', async () => {
    await crawls.addDaemon({ runMs: 3_000 });
    await crawls.setUp({ limit: LIMIT });
    crawls.daemon.onScheduled = () => {
      crawls.daemon.onScheduled = undefined;
      return kill();
    };
    const { jobs } = await crawls.submit(JOBS);
    await waitUntil(() => crawls.daemon.onScheduled === undefined, { what: 'the node to be told' });
    await crawls.addService();
    await expectAllWell(jobs);
  });

  test('when the node has answered, before that is written', async () => {
    await crawls.addDaemon({ runMs: 3_000 });
    await crawls.setUp({ limit: LIMIT });
    const redis = crawls.redis.client();
    crawls.daemon.onScheduled = async () => {
      crawls.daemon.onScheduled = undefined;
      await redis.call('CLIENT', 'PAUSE', '60000', 'WRITE');
    };
    const { jobs } = await crawls.submit(JOBS);
    await waitUntil(() => crawls.daemon.onScheduled === undefined, { what: 'the node to be told' });
    // The answer has arrived when the process turns to Redis, which does not let it.
    await waitUntil(async () => /blocked_clients:[1-9]/.test(await redis.info('clients')), {
      what: 'it to wait for Redis',
    });
    await kill();
    await redis.call('CLIENT', 'UNPAUSE');
    await crawls.addService();
    await expectAllWell(jobs);
  });

  test('while jobs run', async () => {
    await crawls.addDaemon({ runMs: 'hold' });
    await crawls.setUp({ limit: LIMIT });
    const { jobs } = await crawls.submit(JOBS);
    await crawls.untilQueue('two to run', ({ running }) => running === LIMIT);
    await kill();
    await crawls.addService();
    await waitUntil(
      () => {
        crawls.daemon.finish();
        return crawls.daemon.scheduled.length === JOBS && crawls.daemon.live === 0;
      },
      { what: 'all to have run', deadlineMs: 30_000 },
    );
    await expectAllWell(jobs);
  });

  test('when a job has finished, before that is written', async () => {
    await crawls.addDaemon({ runMs: 'hold' });
    await crawls.setUp({ limit: LIMIT });
    const redis = crawls.redis.client();
    const { jobs } = await crawls.submit(JOBS);
    await crawls.untilQueue('two to run', ({ running }) => running === LIMIT);
    await redis.call('CLIENT', 'PAUSE', '60000', 'WRITE');
    const asked = () => (crawls.daemon.calls['status.json'] ?? 0) + (crawls.daemon.calls['listjobs.json'] ?? 0);
    const before = asked();
    crawls.daemon.finish();
    await waitUntil(() => asked() > before, { what: 'the node to be asked' });
    await kill();
    await redis.call('CLIENT', 'UNPAUSE');
    await crawls.addService();
    await waitUntil(
      () => {
        crawls.daemon.finish();
        return crawls.daemon.scheduled.length === JOBS && crawls.daemon.live === 0;
      },
      { what: 'all to have run', deadlineMs: 30_000 },
    );
    await expectAllWell(jobs);
  });

  test('when that a job has finished has been written, and its node may not have been given back', async () => {
    await crawls.addDaemon();
    await crawls.setUp({ limit: LIMIT });
    const monitor = await RedisMonitor.start(crawls.redis.url);
    const { jobs } = await crawls.submit(JOBS);
    await monitor.untilSent(' running finished ');
    await kill();
    await crawls.addService();
    await expectAllWell(jobs);
  });

  test('while a request is being taken in: it is taken in whole, or not at all', async () => {
    await crawls.addDaemon({ runMs: 0, maxProc: 1_000 });
    await crawls.setUp({ limit: LIMIT });
    const monitor = await RedisMonitor.start(crawls.redis.url);
    const sent = crawls.submit(2_000).catch(() => undefined);
    await monitor.untilSent(':staged:');
    await kill();
    await sent;
    await crawls.addService();
    const { waiting, finished, running, starting } = await crawls.queue();
    expect([0, 2_000]).toContain(waiting + finished + running + starting);
  });
});

test('a process that is stopped between its note that it tells the node and the call does not tell it when another has', async () => {
  await crawls.service.stop();
  const proxy = await TcpProxy.start(crawls.redis.port);
  const slow = await crawls.addService({ REDIS_URL: proxy.url, REDIS_COMMAND_TIMEOUT_MS: '60000' });
  await crawls.addDaemon({ runMs: 'hold' });
  await crawls.setUp({ limit: 1 });
  // Redis knows the scripts from then on.
  await crawls.submit(1);
  await waitUntil(() => crawls.daemon.runningIds.length === 1, { what: 'the first to run' });
  crawls.daemon.finish();
  await crawls.untilIdle();
  const posting = proxy.stallAfter('{"isPosted":true}');
  const { jobs } = await crawls.submit(1);
  await posting;
  slow.child.kill('SIGSTOP');
  await crawls.addService();
  await waitUntil(() => crawls.daemon.scheduled.length === 2, { what: 'another to start it', deadlineMs: 20_000 });
  await crawls.untilQueue('it to run', ({ running }) => running === 1);
  await waitUntil(() => crawls.daemon.runningIds.length === 1, { what: 'it to run on the node' });
  slow.child.kill('SIGCONT');
  proxy.pass();
  // It has taken up its work again when it has asked the other process's node, or has let go.
  expect((await slow.call('GET', `/v1/queues/crawls/jobs/${jobs[0] ?? ''}`)).status).toBe(200);
  crawls.daemon.finish();
  await crawls.untilIdle();
  expect(crawls.daemon.calls['schedule.json']).toBe(2);
  await proxy.stop();
});

import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { CrawlServices } from '../support/crawl.services.js';
import { jobOf } from '../support/external.ids.js';
import type { ScrapydFault } from '../support/scrapyd.server.js';
import { waitUntil } from '../support/wait.until.js';

/** As long as the promise says that a node may be away. */
const MINUTE_MS = 60_000;

let crawls: CrawlServices;

beforeEach(async () => {
  crawls = await CrawlServices.start({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
  await crawls.addService();
});
afterEach(() => crawls.stop());

/** Ends what runs, until so many jobs have finished. */
async function finishAll(count: number, deadlineMs = 60_000): Promise<void> {
  const isDone = async () => {
    for (const daemon of crawls.daemons) daemon.finish();
    return (await crawls.queue()).finished === count;
  };
  await waitUntil(isDone, { what: `${count} jobs to finish`, deadlineMs });
}

describe('a node', () => {
  test.each<ScrapydFault>(['401', '500', 'rubbish', 'hangs', 'cuts', 'error', 'empty'])(
    'that answers nothing but "%s" gets no job, and holds up none',
    async (fault) => {
      await crawls.addDaemon({ runMs: 50 });
      await crawls.addDaemon({ runMs: 50 });
      crawls.daemon.faults.set('*', fault);
      // No job fails: a node is asked for its load before it is told anything.
      await crawls.setUp({ limit: 4, retry: { backoffMs: 60_000 } });
      await crawls.submit(12);
      await crawls.untilIdle();
      expect(crawls.daemon.scheduled).toEqual([]);
      const queue = await crawls.queue();
      expect(queue).toMatchObject({ finished: 12 });
      expect(queue.nodes).toMatchObject([{ id: 'node-1', reason: expect.any(String) }]);
    },
  );

  test.each<ScrapydFault>(['401', '500', 'rubbish', 'hangs'])(
    'that answers every start with "%s" costs an attempt and a rest',
    async (fault) => {
      await crawls.addDaemon({ runMs: 50 });
      await crawls.addDaemon({ runMs: 50 });
      crawls.daemon.faults.set('schedule.json', fault);
      await crawls.setUp({ limit: 4, retry: { backoffMs: 1_500 } });
      const { jobs } = await crawls.submit(6);
      await crawls.untilIdle();
      expect(crawls.daemon.scheduled).toEqual([]);
      expect(new Set(crawls.daemons[1]?.startedJobs)).toEqual(new Set(jobs));
      expect(crawls.daemons[1]?.twice).toEqual([]);
    },
  );

  test('whose answers to starts are lost starts no job twice', async () => {
    await crawls.addDaemon({ runMs: 4_000 });
    crawls.daemon.faults.set('schedule.json', 'lost');
    await crawls.setUp({ limit: 4, retry: { backoffMs: 100 } });
    const { jobs } = await crawls.submit(4);
    await crawls.untilIdle();
    expect(crawls.daemon.startedJobs.sort()).toEqual([...jobs].sort());
    expect(await crawls.queue()).toMatchObject({ finished: 4 });
  });

  test('that runs four crawls of somebody else gets no more than it has room for', async () => {
    await crawls.addDaemon({ runMs: 'hold' });
    crawls.daemon.addForeign(4);
    await crawls.setUp({ limit: 10, capacity: 6 });
    await crawls.submit(6);
    const full = await crawls.untilQueue('the node to be full', ({ nodes }) => typeof nodes[0]?.reason === 'string');
    expect(full).toMatchObject({ running: 2, waiting: 4 });
    crawls.daemon.finishForeign();
    await crawls.untilQueue('all to run', ({ running }) => running === 6);
    expect(crawls.daemon.most).toBeLessThanOrEqual(6);
    await finishAll(6);
    await crawls.untilIdle();
  });

  test('that is away for a minute keeps its jobs', async () => {
    await crawls.addDaemon({ runMs: 'hold' });
    await crawls.addDaemon({ runMs: 'hold' });
    await crawls.setUp({ limit: 4 });
    await crawls.submit(8);
    const isHeld = () => crawls.daemons.every(({ runningIds }) => runningIds.length === 2);
    await waitUntil(isHeld, { what: 'four to run, and none to be pending' });
    await crawls.untilQueue('four to run', ({ running }) => running === 4);
    const away = crawls.daemon;
    const heldThere = away.runningIds;
    away.faults.set('*', 'cuts');
    const backAtMs = performance.now() + MINUTE_MS;
    // The other one goes on meanwhile, with what the limit leaves it.
    await waitUntil(() => (crawls.daemons[1]?.finish(), performance.now() > backAtMs), {
      what: 'a minute to pass',
      deadlineMs: MINUTE_MS * 2,
    });
    expect(await crawls.queue()).toMatchObject({ finished: 6, lost: 0, failed: 0 });
    away.faults.clear();
    expect(away.runningIds).toEqual(heldThere);
    await finishAll(8);
    await crawls.untilIdle();
    expect(crawls.daemons.flatMap(({ scheduled }) => scheduled)).toHaveLength(8);
  }, 180_000);

  test('that was restarted has lost what ran, which is started again', async () => {
    await crawls.addDaemon({ runMs: 'hold', maxProc: 3 });
    await crawls.setUp({ limit: 5, loss: { afterMs: 1_000 } });
    const { jobs } = await crawls.submit(5);
    await crawls.untilQueue('five to have been started', ({ running }) => running === 5);
    await waitUntil(() => crawls.daemon.runningIds.length === 3, { what: 'three to run, and two to be pending' });
    const lost = crawls.daemon.runningIds.map(jobOf);
    crawls.daemon.restart();
    await waitUntil(() => crawls.daemon.scheduled.length === 8, {
      what: 'three to be started again',
      deadlineMs: 20_000,
    });
    expect(crawls.daemon.twice).toEqual([]);
    expect(crawls.daemon.most).toBeLessThanOrEqual(5);
    await finishAll(5);
    await crawls.untilIdle();
    for (const id of jobs) {
      const job = await crawls.job(id);
      expect(job.attempts).toBe(lost.includes(id) ? 2 : 1);
    }
  });
});

describe('Redis', () => {
  test('that is killed and comes back has lost nothing, and no job is started twice', async () => {
    await crawls.addDaemon({ runMs: 300 });
    await crawls.setUp({ limit: 4 });
    const { jobs } = await crawls.submit(40);
    for (let n = 1; n <= 3; n++) {
      await crawls.untilQueue('some to have finished', ({ finished }) => finished >= n * 5);
      await crawls.redis.restart();
      // It takes requests again.
      await waitUntil(async () => (await crawls.service.call('GET', '/health/ready')).status === 200, {
        what: 'Redis',
      });
    }
    await crawls.untilIdle();
    expect(crawls.daemon.twice).toEqual([]);
    expect(crawls.daemon.most).toBeLessThanOrEqual(4);
    expect(crawls.daemon.startedJobs.sort()).toEqual([...jobs].sort());
    expect(await crawls.queue()).toMatchObject({ finished: 40, failed: 0, lost: 0 });
    expect(crawls.service.log).not.toMatch(/unhandled|ERROR \[(?!Redis\])/i);
  });

  test('that stalls for longer than a command may take leaves no job behind', async () => {
    await crawls.addDaemon({ runMs: 300 });
    await crawls.setUp({ limit: 4 });
    await crawls.submit(20);
    await crawls.untilQueue('some to have finished', ({ finished }) => finished >= 4);
    crawls.redis.pause();
    const { log } = crawls.service;
    await waitUntil(() => crawls.service.log.length > log.length, {
      what: 'the outage to be told',
      deadlineMs: 20_000,
    });
    crawls.redis.resume();
    await crawls.untilIdle();
    expect(crawls.daemon.twice).toEqual([]);
    expect(crawls.daemon.most).toBeLessThanOrEqual(4);
    expect(await crawls.queue()).toMatchObject({ finished: 20, failed: 0, lost: 0 });
  });

  test.each(['SIGKILL', 'SIGSTOP'] as const)('that is away (%s) keeps no process from ending', async (signal) => {
    await crawls.addDaemon({ runMs: 'hold' });
    await crawls.setUp({ limit: 4 });
    await crawls.submit(8);
    await crawls.untilQueue('four to run', ({ running }) => running === 4);
    await crawls.redis.kill(signal);
    expect(await crawls.service.stop('SIGTERM')).toBe(0);
    if (signal === 'SIGSTOP') crawls.redis.resume();
    else await crawls.redis.start();
    await crawls.addService();
    await finishAll(8);
    await crawls.untilIdle();
    expect(crawls.daemon.scheduled).toHaveLength(8);
  });
});

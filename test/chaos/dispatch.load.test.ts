import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { CrawlServices } from '../support/crawl.services.js';
import { waitUntil } from '../support/wait.until.js';

const REQUESTS = 3;
const JOBS = 20;
const ALL = REQUESTS * JOBS;

let crawls: CrawlServices;

beforeEach(async () => {
  crawls = await CrawlServices.start();
  for (let n = 0; n < 3; n++) await crawls.addService();
});
afterEach(() => crawls.stop());

/**
 * Three requests of 20 jobs each, each to another process. The first `held` jobs run until they are finished.
 *
 * @returns the ids of all jobs in the order of arrival
 */
async function submitAll(ms: number, held = 0): Promise<string[]> {
  const ids: string[] = [];
  for (const service of crawls.services) {
    const jobs = Array.from({ length: JOBS }, (_, n) => ({
      payload: { args: ids.length + n < held ? { n } : { n, ms } },
    }));
    const { status, body } = await service.call<{ jobs: string[] }>('POST', '/v1/queues/crawls/requests', { jobs });
    expect(status).toBe(202);
    ids.push(...body.jobs);
  }
  return ids;
}

function startedIds(): string[] {
  return crawls.daemons.flatMap(({ startedJobs }) => startedJobs);
}

describe('three processes and 60 jobs', () => {
  test.each(['1.4', '1.6'] as const)(
    'never run more than four at once on scrapyd %s, in their order, each once',
    async (version) => {
      await crawls.addDaemon({ version, pollMs: 100, runMs: 'hold' });
      await crawls.setUp({ limit: 4 });
      const ids = await submitAll(150, 4);
      await waitUntil(() => crawls.daemon.runningIds.length === 4, { what: 'four to run' });
      for (let n = 0; n < 4; n++) crawls.daemon.finish();
      await crawls.untilIdle();
      expect(crawls.daemon.most).toBe(4);
      expect(startedIds()).toEqual(ids);
      expect(await crawls.queue()).toMatchObject({ finished: ALL, failed: 0, lost: 0 });
    },
  );

  test('lose nothing while one process after another is killed and comes back', async () => {
    await crawls.addDaemon({ pollMs: 100 });
    await crawls.setUp({ limit: 4 });
    const ids = await submitAll(300);
    for (let n = 0; n < 3; n++) {
      await sleep(500 + n * 400);
      await crawls.services[n]?.stop('SIGKILL');
      await crawls.addService();
    }
    await crawls.untilIdle(90_000);
    expect(crawls.daemon.most).toBeLessThanOrEqual(4);
    expect(crawls.daemon.twice).toEqual([]);
    expect(startedIds().sort()).toEqual([...ids].sort());
    expect(await crawls.queue()).toMatchObject({ finished: ALL, failed: 0, lost: 0 });
  });

  test('end in good order while they are asked to, and lose nothing', async () => {
    await crawls.addDaemon({ runMs: 'hold' });
    await crawls.setUp({ limit: 4 });
    await submitAllHeld();
    for (let n = 0; n < 3; n++) {
      await crawls.untilQueue('four to run', ({ running }) => running === 4);
      const ended = crawls.services[n]?.stop('SIGTERM');
      crawls.daemon.finish();
      crawls.daemon.finish();
      expect(await ended).toBe(0);
      await crawls.addService();
    }
    await finishAll();
    await crawls.untilIdle();
    expect(crawls.daemon.most).toBeLessThanOrEqual(4);
    expect(crawls.daemon.twice).toEqual([]);
    expect(await crawls.queue()).toMatchObject({ finished: ALL, failed: 0, lost: 0 });
  });

  test('follow the limit from 4 to 1 to 6, while a node is added and another removed', async () => {
    for (let n = 0; n < 2; n++) await crawls.addDaemon({ runMs: 'hold' });
    await crawls.setUp({ limit: 4 });
    const live = () => crawls.daemons.reduce((sum, daemon) => sum + daemon.live, 0);
    const finish = () => crawls.daemons.find((daemon) => daemon.runningIds.length > 0)?.finish();
    await submitAllHeld();
    await crawls.untilQueue('four to run', ({ running }) => running === 4);
    await crawls.call('PATCH', '/v1/queues/crawls', { limit: 1 });
    for (let left = 3; left >= 1; left--) {
      finish();
      await crawls.untilQueue(`${left} to run`, ({ running, starting }) => running + starting === left);
      expect(live()).toBe(left);
    }
    finish();
    await crawls.untilQueue('one more to run', ({ running, finished }) => finished === 4 && running === 1);
    expect(live()).toBe(1);
    const third = await crawls.addDaemon({ runMs: 'hold' });
    await crawls.call('PATCH', '/v1/queues/crawls', { limit: 6 });
    await crawls.untilQueue('six to run', ({ running }) => running === 6);
    expect(live()).toBe(6);
    expect(third.live).toBeGreaterThan(0);
    const before = crawls.daemon.scheduled.length;
    await crawls.removeNode('node-1');
    await finishAll(() => expect(live()).toBeLessThanOrEqual(6));
    // One start may have been on its way.
    expect(crawls.daemon.scheduled.length).toBeLessThanOrEqual(before + 1);
    expect(new Set(startedIds()).size).toBe(ALL);
    await crawls.untilIdle();
  });
});

async function submitAllHeld(): Promise<void> {
  for (let n = 0; n < REQUESTS; n++) await crawls.submit(JOBS);
}

/** Finishes one job a node after another, until none is left. */
async function finishAll(check = () => {}): Promise<void> {
  const rest = async () => {
    for (const daemon of crawls.daemons) daemon.finish();
    check();
    return (await crawls.queue()).finished === ALL;
  };
  await waitUntil(rest, { what: 'all to finish', deadlineMs: 60_000 });
}

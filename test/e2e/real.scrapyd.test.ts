import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { CrawlServices } from '../support/crawl.services.js';
import { jobOf } from '../support/external.ids.js';
import { SCRAPYD_COMMAND, ScrapydProcess } from '../support/scrapyd.process.js';
import { waitUntil } from '../support/wait.until.js';

const LIMIT = 2;

interface Lists {
  pending: { id: string }[];
  running: { id: string }[];
  finished: { id: string }[];
}

/** Where SCRAPYD_COMMAND names a command that starts one: `SCRAPYD_COMMAND=scrapyd npm test -- test/e2e/real.scrapyd.test.ts`. */
const describeReal = SCRAPYD_COMMAND === undefined ? describe.skip : describe;

describeReal('on a real scrapyd', () => {
  let crawls: CrawlServices;
  let daemon: ScrapydProcess;
  let most = 0;

  beforeEach(async () => {
    crawls = await CrawlServices.start();
    for (let n = 0; n < 3; n++) await crawls.addService();
    daemon = await ScrapydProcess.start();
    await crawls.addNode('daemon', daemon.address);
    await crawls.setUp({ limit: LIMIT, callMs: 10_000, pollMs: 200, loss: { afterMs: 2_000 } });
    most = 0;
  });
  afterEach(async () => {
    await crawls.stop();
    await daemon.stop();
  });

  async function submit(count: number, args: Record<string, unknown> = {}): Promise<string[]> {
    const jobs = Array.from({ length: count }, () => ({ payload: { args } }));
    return (await crawls.call<{ jobs: string[] }>('POST', '/v1/queues/crawls/requests', { jobs })).jobs;
  }

  async function sample(): Promise<Lists> {
    const lists = await daemon.ask<Lists>('listjobs.json');
    most = Math.max(most, lists.pending.length + lists.running.length);
    return lists;
  }

  test('jobs run in their order, no more at once than may, each once', async () => {
    const ids = await submit(8, { seconds: 0.5 });
    const isDone = async () => (await sample()).finished.length === ids.length;
    await waitUntil(isDone, { what: 'all to have run', deadlineMs: 90_000 });
    await crawls.untilIdle();
    expect(most).toBe(LIMIT);
    const ran = (await sample()).finished.map(({ id }) => id);
    expect(ran.map(jobOf).sort()).toEqual([...ids].sort());
    expect(await crawls.queue()).toMatchObject({ finished: 8, failed: 0, lost: 0 });
    const starts = await Promise.all(ids.map(async (id) => (await crawls.job(id)).startingAt));
    expect(starts).toEqual([...starts].sort());
  }, 150_000);

  test('a job that runs is cancelled and its spider closed, and one whose spider is not there fails with what scrapyd said', async () => {
    const [id = ''] = await submit(1, { seconds: 600 });
    await waitUntil(async () => (await sample()).running.length === 1, { what: 'it to run', deadlineMs: 30_000 });
    const { externalId } = await crawls.job(id);
    // A process that is told to end before it is a spider has nothing to close.
    await waitUntil(() => daemon.has('begun', externalId ?? ''), { what: 'its spider to begin', deadlineMs: 30_000 });
    await crawls.call('POST', `/v1/queues/crawls/jobs/${id}/cancel`);
    await waitUntil(async () => (await crawls.job(id)).state === 'cancelled', {
      what: 'it to end',
      deadlineMs: 30_000,
    });
    expect((await sample()).running).toEqual([]);
    expect(daemon.has('closed', externalId ?? '')).toBe(true);
    await crawls.call('PATCH', '/v1/queues/crawls', { retry: { attempts: 1 } });
    const wrong = { jobs: [{ payload: { spider: 'nobody' } }] };
    const { jobs } = await crawls.call<{ jobs: string[] }>('POST', '/v1/queues/crawls/requests', wrong);
    await waitUntil(async () => (await crawls.job(jobs[0] ?? '')).state === 'failed', {
      what: 'it to fail',
      deadlineMs: 30_000,
    });
    expect((await crawls.job(jobs[0] ?? '')).reason).toBe("scrapyd said: spider 'nobody' not found");
  }, 150_000);

  test('what ran when the daemon was killed is started again', async () => {
    const ids = await submit(2, { seconds: 5 });
    await waitUntil(async () => (await sample()).running.length === 2, { what: 'both to run', deadlineMs: 30_000 });
    await daemon.restart();
    await crawls.untilIdle(90_000);
    for (const id of ids) expect(await crawls.job(id)).toMatchObject({ state: 'finished', attempts: 2 });
    // Those that were killed are unknown to the daemon that came after it.
    expect((await sample()).finished.map(({ id }) => jobOf(id)).sort()).toEqual([...ids].sort());
    expect(most).toBe(LIMIT);
  }, 150_000);
});

import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { JobView } from '../../src/dispatch/job.types.js';
import { CrawlServices } from '../support/crawl.services.js';
import type { RunningService } from '../support/service.js';
import { waitUntil } from '../support/wait.until.js';

const SECRET = 's3cret-of-the-node';
const QUEUE = { pool: 'nodes', limit: 2, launcher: { type: 'scrapyd', project: 'shop', spider: 'crawl' }, pollMs: 100 };

let crawls: CrawlServices;
let service: RunningService;

beforeEach(async () => {
  crawls = await CrawlServices.start();
  service = await crawls.addService();
  await service.call('PUT', '/v1/pools/nodes', { strategy: 'least-concurrency' });
  await crawls.addDaemon({ runMs: 'hold', username: 'op', password: SECRET });
});
afterEach(() => crawls.stop());

const put = (changes: unknown = QUEUE) => service.call('PUT', '/v1/queues/crawls', changes);
const submit = (body: unknown) =>
  service.call<{ id: string; jobs: string[] }>('POST', '/v1/queues/crawls/requests', body);
const jobs = (count: number) => Array.from({ length: count }, (_, n) => ({ payload: { args: { n } } }));

describe('a queue', () => {
  test('is made, shown, changed, paused, resumed and deleted', async () => {
    const made = await put();
    expect(made.status).toBe(201);
    expect(made.body).toEqual({
      name: 'crawls',
      ...QUEUE,
      retry: { attempts: 3, backoffMs: 1_000 },
      loss: { afterMs: 30_000, unreachableMs: 600_000, retry: true },
      callMs: 10_000,
      leaseTtlMs: 60_000,
      keepMs: 86_400_000,
      paused: false,
      waiting: 0,
      starting: 0,
      running: 0,
      finished: 0,
      failed: 0,
      cancelled: 0,
      lost: 0,
      blocked: null,
      nodes: [],
    });
    expect((await put()).status).toBe(200);
    expect((await service.call('GET', '/v1/queues/crawls')).body).toEqual(made.body);
    expect((await service.call('GET', '/v1/queues')).body).toEqual({ queues: [made.body], nextCursor: null });
    expect((await service.call('PATCH', '/v1/queues/crawls', { limit: 7 })).body).toMatchObject({ limit: 7 });
    expect((await service.call('POST', '/v1/queues/crawls/pause')).body).toMatchObject({ paused: true });
    await submit({ jobs: jobs(1) });
    const busy = await service.call('DELETE', '/v1/queues/crawls');
    expect(busy).toMatchObject({ status: 409, body: { code: 'QUEUE_BUSY', queue: 'crawls' } });
    expect((await service.call('DELETE', '/v1/queues/crawls?force=true')).status).toBe(204);
    for (const path of ['', '/requests', '/requests/x', '/jobs/x']) {
      const gone = await service.call('GET', `/v1/queues/crawls${path}`);
      expect(gone).toMatchObject({ status: 404, body: { code: 'QUEUE_NOT_FOUND' } });
    }
  });

  test('shows its requests and its jobs, and nothing of the password of a node', async () => {
    await put();
    const { status, body } = await submit({ requestId: 'order-7', owner: 'alice', priority: 3, jobs: jobs(3) });
    expect(status).toBe(202);
    const { id, jobs: ids } = body;
    expect(ids).toEqual([`${id}-0`, `${id}-1`, `${id}-2`]);
    await waitUntil(async () => (await crawls.queue()).running === 2, { what: 'two to run' });
    const request = await service.call('GET', `/v1/queues/crawls/requests/${id}`);
    const counts = { waiting: 1, starting: 0, running: 2, finished: 0, failed: 0, cancelled: 0, lost: 0 };
    const time = expect.any(String);
    const shown = { id, requestId: 'order-7', owner: 'alice', priority: 3, total: 3, jobs: counts };
    expect(request.body).toEqual({ ...shown, acceptedAt: time, endedAt: null });
    expect((await service.call('GET', '/v1/queues/crawls/requests')).body).toEqual({
      requests: [request.body],
      nextCursor: null,
    });
    const job = await service.call('GET', `/v1/queues/crawls/jobs/${id}-0`);
    expect(job.body).toEqual({
      id: `${id}-0`,
      request: id,
      state: 'running',
      node: 'node-1',
      externalId: expect.stringMatching(`^${id}-0-[0-9a-f]{12}$`),
      attempts: 1,
      reason: null,
      payload: { args: { n: 0 } },
      waitingAt: time,
      startingAt: time,
      runningAt: time,
      endedAt: null,
      log: [{ at: time, line: expect.stringMatching(`^started on node-1 as ${id}-0-`) }],
    });
    const page = await service.call<{ jobs: JobView[]; nextCursor: string }>(
      'GET',
      `/v1/queues/crawls/requests/${id}/jobs?limit=2`,
    );
    expect(page.body.jobs.map((each) => each.id)).toEqual(ids.slice(0, 2));
    const rest = await service.call<{ jobs: JobView[] }>(
      'GET',
      `/v1/queues/crawls/requests/${id}/jobs?cursor=${page.body.nextCursor}`,
    );
    expect(rest.body.jobs).toMatchObject([{ id: ids[2], state: 'waiting', node: null, attempts: 0, log: [] }]);
    const queue = await service.call('GET', '/v1/queues/crawls');
    expect(JSON.stringify([request, job, page, rest, queue])).not.toContain(SECRET);
  });

  test('cancels jobs and requests', async () => {
    await put();
    const { id, jobs: ids } = (await submit({ jobs: jobs(4) })).body;
    await waitUntil(async () => (await crawls.queue()).running === 2, { what: 'two to run' });
    const waiting = await service.call('POST', `/v1/queues/crawls/jobs/${ids[3] ?? ''}/cancel`);
    expect(waiting).toMatchObject({ status: 202, body: { state: 'cancelled' } });
    const running = await service.call('POST', `/v1/queues/crawls/jobs/${ids[0] ?? ''}/cancel`, {});
    expect(running).toMatchObject({ status: 202, body: { id: ids[0] } });
    expect((await service.call('POST', `/v1/queues/crawls/requests/${id}/cancel`)).status).toBe(202);
    const isOver = async () => (await crawls.request(id)).jobs.cancelled === 4;
    await waitUntil(isOver, { what: 'all to be cancelled' });
    expect(crawls.daemon.live).toBe(0);
  });

  test('shows no password of a node that refuses it or is away, and logs none', async () => {
    await put({ ...QUEUE, callMs: 200 });
    crawls.daemon.faults.set('*', '401');
    await submit({ jobs: jobs(1) });
    const refused = await crawls.untilQueue('the node to rest', ({ nodes }) => nodes.length > 0);
    expect(refused.nodes).toMatchObject([
      { id: 'node-1', reason: 'scrapyd refused the user and password (HTTP 401)', restsUntil: expect.any(String) },
    ]);
    await crawls.daemon.stop();
    const isAway = ({ nodes }: { nodes: { reason: string | null }[] }) =>
      nodes[0]?.reason?.includes('ECONNREFUSED') ?? false;
    const away = await crawls.untilQueue('the node to be away', isAway);
    expect(JSON.stringify([refused, away])).not.toContain(SECRET);
    expect(service.log).not.toContain(SECRET);
  });
});

describe('a request', () => {
  test('twice with its requestId is one, with another content refused', async () => {
    await put();
    await service.call('POST', '/v1/queues/crawls/pause');
    const first = await submit({ requestId: 'order-7', jobs: jobs(2) });
    expect((await submit({ requestId: 'order-7', jobs: jobs(2) })).body).toEqual(first.body);
    const other = await submit({ requestId: 'order-7', jobs: jobs(3) });
    expect(other).toMatchObject({ status: 409, body: { code: 'REQUEST_ID_REUSED' } });
    expect(await crawls.queue()).toMatchObject({ waiting: 2 });
  });

  test('of 10,000 jobs may be larger than a mebibyte', async () => {
    await put();
    await service.call('POST', '/v1/queues/crawls/pause');
    const large = Array.from({ length: 10_000 }, (_, n) => ({ payload: { args: { n, note: 'x'.repeat(200) } } }));
    expect((await submit({ jobs: large })).status).toBe(202);
    expect(await crawls.queue()).toMatchObject({ waiting: 10_000 });
  });
});

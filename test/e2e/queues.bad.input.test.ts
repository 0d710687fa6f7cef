import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { CrawlServices } from '../support/crawl.services.js';
import type { RunningService } from '../support/service.js';

const QUEUE = { pool: 'nodes', limit: 2, launcher: { type: 'scrapyd', project: 'shop', spider: 'crawl' } };

let crawls: CrawlServices;
let service: RunningService;

beforeAll(async () => {
  crawls = await CrawlServices.start();
  service = await crawls.addService();
  await crawls.setUp();
});
afterAll(() => crawls.stop());

const jobs = (count: number) => Array.from({ length: count }, (_, n) => ({ payload: { args: { n } } }));

describe('a request', () => {
  test.each<[string, unknown, string]>([
    ['no jobs', { jobs: [] }, 'jobs'],
    ['more jobs than may be', { jobs: jobs(10_001) }, 'jobs'],
    ['no payload', { jobs: [{}] }, 'jobs.0.payload'],
    ['a payload that is no object', { jobs: [{ payload: 1 }] }, 'jobs.0.payload'],
    ['a payload that is too large', { jobs: [{ payload: { args: { a: 'x'.repeat(70_000) } } }] }, 'jobs.0.payload'],
    [
      "an argument that is scrapyd's own",
      { jobs: [...jobs(1), { payload: { args: { jobid: 1 } } }] },
      'jobs.1.payload.args',
    ],
    ['an unknown field in a payload', { jobs: [{ payload: { colour: 1 } }] }, 'jobs.0.payload.colour'],
    ['an unknown field', { jobs: jobs(1), colour: 1 }, 'colour'],
    ['an unknown field of a job', { jobs: [{ payload: {}, colour: 1 }] }, 'jobs.0.colour'],
    ['a priority that is too high', { jobs: jobs(1), priority: 1_001 }, 'priority'],
    ['a requestId that is none', { jobs: jobs(1), requestId: '' }, 'requestId'],
    ['an owner with a line break', { jobs: jobs(1), owner: 'a\nb' }, 'owner'],
  ])('with %s is refused whole, naming the field', async (_what, body, path) => {
    const answer = await service.call('POST', '/v1/queues/crawls/requests', body);
    expect(answer.headers.get('content-type')).toContain('application/problem+json');
    expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED', errors: [{ path }] } });
    expect(await crawls.queue()).toMatchObject({ waiting: 0 });
  });

  test.each([
    '{"jobs": [{"payload": {"args": {"a": 1, "a": 2}}}]}',
    '{"jobs": [{"payload": {"__proto__": {}}}]}',
    '{"jobs"',
  ])('%s is no JSON with one meaning', async (text) => {
    const answer = await service.call('POST', '/v1/queues/crawls/requests', text, {
      'content-type': 'application/json',
    });
    expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
  });
});

describe('what is not there, or not right', () => {
  test.each<[string, string, unknown, number, string, string?]>([
    ['PUT', '/v1/queues/Crawls', QUEUE, 400, 'VALIDATION_FAILED', 'queue'],
    ['PUT', '/v1/queues/new', { limit: 1 }, 400, 'VALIDATION_FAILED', 'pool'],
    ['PUT', '/v1/queues/new', { ...QUEUE, limit: '4' }, 400, 'VALIDATION_FAILED', 'limit'],
    [
      'PUT',
      '/v1/queues/new',
      { ...QUEUE, launcher: { type: 'scrapyd', host: 'x' } },
      400,
      'VALIDATION_FAILED',
      'launcher.host',
    ],
    ['PUT', '/v1/queues/new', { ...QUEUE, launcher: { type: 'nobody' } }, 422, 'LAUNCHER_UNKNOWN'],
    ['PUT', '/v1/queues/new', { ...QUEUE, pool: 'nobody' }, 404, 'POOL_NOT_FOUND'],
    ['PATCH', '/v1/queues/new', { limit: 1 }, 404, 'QUEUE_NOT_FOUND'],
    ['POST', '/v1/queues/new/requests', { jobs: jobs(1) }, 404, 'QUEUE_NOT_FOUND'],
    ['POST', '/v1/queues/new/pause', undefined, 404, 'QUEUE_NOT_FOUND'],
    ['POST', '/v1/queues/crawls/pause', { now: true }, 400, 'VALIDATION_FAILED', 'now'],
    ['GET', '/v1/queues?colour=1', undefined, 400, 'VALIDATION_FAILED', 'colour'],
    ['GET', '/v1/queues/crawls/requests/nothing', undefined, 404, 'REQUEST_NOT_FOUND'],
    ['GET', '/v1/queues/crawls/requests/..%2f..%2f', undefined, 404, 'REQUEST_NOT_FOUND'],
    ['GET', `/v1/queues/crawls/requests/${'a'.repeat(24)}/jobs`, undefined, 404, 'REQUEST_NOT_FOUND'],
    ['GET', `/v1/queues/crawls/jobs/${'a'.repeat(24)}-0`, undefined, 404, 'JOB_NOT_FOUND'],
    ['GET', '/v1/queues/crawls/jobs/%00%0a', undefined, 404, 'JOB_NOT_FOUND'],
    ['POST', `/v1/queues/crawls/jobs/${'a'.repeat(24)}-0/cancel`, undefined, 404, 'JOB_NOT_FOUND'],
    ['POST', `/v1/queues/crawls/requests/${'x'.repeat(2_000)}/cancel`, undefined, 404, 'REQUEST_NOT_FOUND'],
  ])('%s %s says so', async (method, path, body, status, code, field = '') => {
    const answer = await service.call(method, path, body);
    expect(answer).toMatchObject({
      status,
      body: { code, ...(field === '' ? {} : { errors: [{ path: field }] }) },
    });
  });

  test('an unknown launcher lists those that there are', async () => {
    const answer = await service.call('PUT', '/v1/queues/new', { ...QUEUE, launcher: { type: 'nobody' } });
    expect(answer.body).toMatchObject({ launcher: 'nobody', known: ['http', 'scrapyd'] });
  });
});

import { createServer } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { HttpLauncher } from '../../../src/dispatch/launcher/http.launcher.js';
import { LaunchRefusedError, LauncherCallError, type LauncherNode } from '../../../src/dispatch/launcher/launcher.js';
import { LoopbackServer } from '../../support/loopback.server.js';

interface Call {
  method: string;
  path: string;
  authorization: string | undefined;
  body: unknown;
}

const launcher = new HttpLauncher();
const paths = { start: { path: '/runs' }, status: { path: '/runs/{id}' } };
const job = { externalId: 'a1-0-1', payload: { url: 'http://example.com/' } };
let server: LoopbackServer;
let calls: Call[];
let underWay = 0;
let mostUnderWay = 0;
/** Of a path, in place of `answer`; undefined where none comes. */
let answerOf: ((path: string) => unknown) | undefined;
let answer: { status: number; body: unknown; headers?: Record<string, string> };

beforeEach(async () => {
  calls = [];
  mostUnderWay = 0;
  answerOf = undefined;
  answer = { status: 200, body: {} };
  const http = createServer((request, response) => {
    underWay += 1;
    mostUnderWay = Math.max(mostUnderWay, underWay);
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const { authorization } = request.headers;
      const body: unknown = text === '' ? null : JSON.parse(text);
      calls.push({ method: request.method ?? '', path: request.url ?? '', authorization, body });
      // Not before all that are sent together have come.
      setTimeout(() => {
        underWay -= 1;
        const said = answerOf ? answerOf(request.url ?? '') : answer.body;
        if (said === undefined) return;
        response.writeHead(answer.status, answer.headers);
        response.end(typeof said === 'string' ? said : JSON.stringify(said));
      }, 20);
    });
  });
  server = await LoopbackServer.start(http);
});
afterEach(() => server.stop());

function node(path = ''): LauncherNode {
  return { id: 'node', address: `http://op:s3cret@127.0.0.1:${server.port}${path}`, labels: {} };
}

function inTime(): AbortSignal {
  return AbortSignal.timeout(5_000);
}

async function failureOf(work: Promise<unknown>): Promise<Error> {
  return work.then(
    () => {
      throw new Error('it should have failed');
    },
    (error: unknown) => error as Error,
  );
}

describe('a start', () => {
  test('posts the payload with the id, below the path of the node, with its user and password', async () => {
    await launcher.start(node('/crawler/'), job, launcher.parseOptions(paths), inTime());
    const authorization = `Basic ${Buffer.from('op:s3cret').toString('base64')}`;
    const body = { url: 'http://example.com/', id: 'a1-0-1' };
    expect(calls).toEqual([{ method: 'POST', path: '/crawler/runs', authorization, body }]);
  });

  test('puts the payload under a field, and the id under another, where the queue says so', async () => {
    const options = launcher.parseOptions({
      ...paths,
      start: { path: '/runs', idField: 'key', payloadField: 'input' },
    });
    await launcher.start(node(), job, options, inTime());
    expect(calls[0]?.body).toEqual({ key: 'a1-0-1', input: job.payload });
  });

  test('names the job in its path where the queue says so', async () => {
    const options = launcher.parseOptions({ ...paths, start: { path: '/runs/{id}/start' } });
    await launcher.start(node(), job, options, inTime());
    expect(calls[0]?.path).toBe('/runs/a1-0-1/start');
  });

  test.each([
    ['a "%" that stands for nothing in its password', () => `http://op:100%@127.0.0.1:${server.port}`],
    ['a port that is never called', () => 'http://127.0.0.1:6000'],
    ['TLS where the node speaks none', () => `https://127.0.0.1:${server.port}`],
    ['no address', () => 'node-1'],
  ])('on a node with %s was certainly not made', async (_what, address) => {
    const lame = { ...node(), address: address() };
    const error = await failureOf(launcher.start(lame, job, launcher.parseOptions(paths), inTime()));
    expect(error).toBeInstanceOf(LaunchRefusedError);
    expect(error).toMatchObject({ fault: 'node' });
    expect(calls).toEqual([]);
  });

  test('goes to no other host, whatever the path of the node', async () => {
    await launcher.start(node('//127.0.0.2:1/crawler'), job, launcher.parseOptions(paths), inTime());
    expect(calls).toMatchObject([{ path: '//127.0.0.2:1/crawler/runs' }]);
  });

  test('that is refused with what it was called with shows no password', async () => {
    const pair = Buffer.from('op:s3cret').toString('base64');
    answer = { status: 400, body: `not you, Basic ${pair}: s3cret` };
    const error = await failureOf(launcher.start(node(), job, launcher.parseOptions(paths), inTime()));
    expect(error.message).toBe('the node refused the job (HTTP 400): not you, Basic ***: ***');
  });

  test.each([
    [400, LaunchRefusedError, 'job'],
    [422, LaunchRefusedError, 'job'],
    [401, LaunchRefusedError, 'node'],
    [429, LaunchRefusedError, 'node'],
    [408, LauncherCallError, undefined],
    [302, LauncherCallError, undefined],
    [500, LauncherCallError, undefined],
    [503, LauncherCallError, undefined],
  ])('that is answered with HTTP %i is told apart', async (status, kind, fault) => {
    answer = { status, body: 'no\nroom', headers: { location: 'http://127.0.0.1:1/' } };
    const error = await failureOf(launcher.start(node(), job, launcher.parseOptions(paths), inTime()));
    expect(error).toBeInstanceOf(kind);
    expect((error as { fault?: string }).fault).toBe(fault);
    expect(error.message).not.toMatch(/s3cret|\n/);
    expect(calls).toHaveLength(1);
  });
});

describe('the state of a job', () => {
  test.each([
    ['queued', 'pending'],
    ['active', 'running'],
    ['done', 'finished'],
    ['error', 'failed'],
  ])('that a node calls "%s" is %s', async (said, state) => {
    answer.body = { state: said };
    const found = await launcher.status(node(), [job], launcher.parseOptions(paths), inTime());
    expect(found.get(job.externalId)).toEqual({ state });
    expect(calls[0]).toMatchObject({ method: 'GET', path: '/runs/a1-0-1' });
  });

  test('is read from the fields that the queue names, with why it failed', async () => {
    answer.body = { run: { phase: 'BROKEN', why: 'out of\nmemory' } };
    const status = { path: '/runs/{id}', stateField: 'run.phase', detailField: 'run.why', failed: ['BROKEN'] };
    const options = launcher.parseOptions({ ...paths, status });
    const found = await launcher.status(node(), [job], options, inTime());
    expect(found.get(job.externalId)).toEqual({ state: 'failed', detail: 'out of memory' });
  });

  test('is unknown where there is no such thing, and not given where the answer says nothing', async () => {
    answer.status = 404;
    const options = launcher.parseOptions(paths);
    expect((await launcher.status(node(), [job], options, inTime())).get(job.externalId)).toEqual({ state: 'unknown' });
    for (const [status, body] of [
      [200, { state: 'dancing' }],
      [200, 'rubbish'],
      [200, []],
      [500, { state: 'done' }],
    ] as const) {
      answer = { status, body };
      const found = await launcher.status(node(), [job], options, inTime());
      expect(found.get(job.externalId)).toBeInstanceOf(LauncherCallError);
    }
  });

  test.each(['dancing', { toString: 1 }, null])(
    '%j, which makes no sense, keeps those of other jobs from nobody',
    async (odd) => {
      const options = launcher.parseOptions(paths);
      const other = { ...job, externalId: 'a1-1-1' };
      answerOf = (path) => ({ state: path.endsWith(other.externalId) ? 'finished' : odd });
      const found = await launcher.status(node(), [job, other], options, inTime());
      expect(found.get(job.externalId)).toBeInstanceOf(LauncherCallError);
      expect(found.get(other.externalId)).toEqual({ state: 'finished' });
    },
  );

  test('that comes too late is not given, and those that came in time are', async () => {
    const options = launcher.parseOptions(paths);
    const other = { ...job, externalId: 'a1-1-1' };
    const closing = new AbortController();
    answerOf = (path) => {
      if (path.endsWith(other.externalId)) return { state: 'running' };
      // Not before the other answer is there.
      setTimeout(() => closing.abort(), 200);
      return undefined;
    };
    const found = await launcher.status(node(), [job, other], options, closing.signal);
    expect(found.get(job.externalId)).toBeInstanceOf(LauncherCallError);
    expect(found.get(other.externalId)).toEqual({ state: 'running' });
  });

  test('is asked for each of many jobs', async () => {
    answer.body = { state: 'running' };
    const jobs = Array.from({ length: 50 }, (_, n) => ({ ...job, externalId: `a1-${n}-1` }));
    const found = await launcher.status(node(), jobs, launcher.parseOptions(paths), inTime());
    expect(found.size).toBe(50);
    expect(new Set(calls.map(({ path }) => path)).size).toBe(50);
    expect(mostUnderWay).toBe(16);
  });
});

test('cancelling and the load go where the queue says, and are left out where it says nothing', async () => {
  const bare = launcher.parseOptions(paths);
  await expect(launcher.cancel(node(), job, bare, inTime())).rejects.toThrow('the queue names no path for it');
  expect(await launcher.load(node(), bare, inTime())).toBeNull();
  expect(calls).toEqual([]);
  const cancel = { method: 'DELETE' as const, path: '/runs/{id}' };
  const options = launcher.parseOptions({ ...paths, cancel, load: { path: '/load?of=all', field: 'jobs' } });
  await launcher.cancel(node(), job, options, inTime());
  answer.body = { jobs: 7 };
  expect(await launcher.load(node(), options, inTime())).toBe(7);
  expect(calls).toMatchObject([{ method: 'DELETE', path: '/runs/a1-0-1' }, { path: '/load?of=all' }]);
  answer.body = { jobs: -1 };
  await expect(launcher.load(node(), options, inTime())).rejects.toBeInstanceOf(LauncherCallError);
});

test('an answer is read up to eight mebibytes', async () => {
  answer.body = 'x'.repeat(9 * 1_048_576);
  const options = launcher.parseOptions({ ...paths, load: { path: '/load' } });
  const error = await failureOf(launcher.load(node(), options, inTime()));
  expect(error.message).toBe('the answer of the node is too long');
});

describe('what a queue sets', () => {
  test.each([
    [{}, 'launcher.start'],
    [{ ...paths, start: { path: 'http://example.com/' } }, 'launcher.start.path'],
    [{ ...paths, start: { path: '//example.com/' } }, 'launcher.start.path'],
    [{ ...paths, status: { path: '/runs' } }, 'launcher.status.path'],
    [{ ...paths, colour: 1 }, 'launcher.colour'],
    [{ ...paths, start: { path: '/runs', payloadField: 'id' } }, 'launcher.start.payloadField'],
    [{ ...paths, start: { path: '/runs', idField: '__proto__' } }, 'launcher.start.idField'],
    [{ ...paths, status: { path: '/runs/{id}', running: ['done'] } }, 'launcher.status.finished'],
  ])('%j is refused with the field', (options, path) => {
    let thrown: unknown;
    try {
      launcher.parseOptions(options);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({
      code: 'VALIDATION_FAILED',
      problems: expect.arrayContaining([expect.objectContaining({ path })]),
    });
  });

  test('keeps a payload from taking the place of the id', () => {
    expect(launcher.checkPayload({ id: 1 }, launcher.parseOptions(paths))).toMatchObject({ path: 'id' });
    const options = launcher.parseOptions({ ...paths, start: { path: '/runs', idField: 'constructor' } });
    expect(launcher.checkPayload({ id: 1 }, options)).toBeUndefined();
  });
});

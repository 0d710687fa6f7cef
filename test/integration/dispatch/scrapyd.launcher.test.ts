import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { LaunchRefusedError, LauncherCallError, type LauncherNode } from '../../../src/dispatch/launcher/launcher.js';
import { ScrapydLauncher } from '../../../src/dispatch/launcher/scrapyd.launcher.js';
import { freePort } from '../../support/free.port.js';
import { type ScrapydFault, type ScrapydOptions, ScrapydServer } from '../../support/scrapyd.server.js';
import { waitUntil } from '../../support/wait.until.js';

const launcher = new ScrapydLauncher();
const options = { project: 'shop', spider: 'crawl' };
const job = { externalId: 'a1-0-1', payload: {} };
let server: ScrapydServer;

beforeEach(async () => {
  server = await ScrapydServer.start({ runMs: 'hold' });
});
afterEach(() => server.stop());

function node(address = server.address): LauncherNode {
  return { id: 'node', address, labels: {} };
}

function inTime(): AbortSignal {
  return AbortSignal.timeout(5_000);
}

async function restartAs(changed: ScrapydOptions): Promise<void> {
  await server.stop();
  server = await ScrapydServer.start({ runMs: 'hold', ...changed });
}

async function stateOf(externalId: string, others: string[] = []): Promise<string> {
  const asked = [externalId, ...others].map((id) => ({ ...job, externalId: id }));
  const found = await launcher.status(node(), asked, options, inTime());
  return found.get(externalId)?.state ?? 'unknown';
}

describe('a start', () => {
  test('tells the job under its own id, with what the payload says', async () => {
    const payload = {
      settings: { LOG_LEVEL: 'INFO', DEPTH_LIMIT: 3 },
      args: { url: 'http://example.com/?a=b&c', deep: true },
    };
    await launcher.start(node(), { ...job, payload }, options, inTime());
    expect(server.scheduled).toMatchObject([
      {
        id: 'a1-0-1',
        project: 'shop',
        spider: 'crawl',
        settings: { LOG_LEVEL: 'INFO', DEPTH_LIMIT: '3' },
        args: { url: 'http://example.com/?a=b&c', deep: 'true' },
      },
    ]);
  });

  test('takes the project from the payload, else from the label of the node, else from the queue', async () => {
    const labelled = { ...node(), labels: { project: 'other' } };
    await expect(launcher.start(labelled, job, options, inTime())).rejects.toThrow("project 'other' not found");
    await launcher.start(labelled, { ...job, payload: { project: 'shop' } }, options, inTime());
    await expect(launcher.start(node(), job, { spider: 'crawl' }, inTime())).rejects.toThrow(/project/);
    expect(server.scheduled).toHaveLength(1);
  });

  test('gives the user and the password, and shows neither when they are refused', async () => {
    await restartAs({ username: 'op', password: 's3cret' });
    await launcher.start(node(), job, options, inTime());
    const wrong = node(server.address.replace('s3cret', 'wr0ng'));
    const error: unknown = await launcher.start(wrong, job, options, inTime()).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(LaunchRefusedError);
    expect(error).toMatchObject({ fault: 'node', message: 'scrapyd refused the user and password (HTTP 401)' });
    expect(server.scheduled).toHaveLength(1);
  });

  test('that scrapyd refuses is the fault of the job', async () => {
    const unknown = { ...job, payload: { spider: 'nobody' } };
    const error: unknown = await launcher.start(node(), unknown, options, inTime()).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(LaunchRefusedError);
    expect(error).toMatchObject({ fault: 'job', message: "scrapyd said: spider 'nobody' not found" });
  });

  test('that never reached the node was certainly none', async () => {
    const nobody = node(`http://op:s3cret@127.0.0.1:${await freePort()}`);
    const error: unknown = await launcher.start(nobody, job, options, inTime()).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(LaunchRefusedError);
    expect(error).toMatchObject({ fault: 'node', message: 'the node was not reached (ECONNREFUSED)' });
  });

  test.each<[ScrapydFault, RegExp, number]>([
    ['cuts', /connection to the node broke/, 0],
    ['lost', /connection to the node broke/, 1],
    ['rubbish', /HTTP 200 with something unexpected/, 0],
    ['empty', /HTTP 200 with something unexpected/, 0],
    ['traceback', /HTTP 200 with an error: scrapyd.exceptions.RunnerError: no/, 0],
    ['500', /HTTP 500 with something unexpected/, 0],
  ])('whose answer is %s leaves open whether it was one', async (fault, message, scheduled) => {
    server.faults.set('schedule.json', fault);
    const error: unknown = await launcher.start(node(), job, options, inTime()).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(LauncherCallError);
    expect(String(error)).toMatch(message);
    expect(server.scheduled).toHaveLength(scheduled);
  });

  test('ends with its signal', async () => {
    server.faults.set('schedule.json', 'hangs');
    await expect(launcher.start(node(), job, options, AbortSignal.timeout(100))).rejects.toThrow(/no answer in time/);
  });
});

describe.each(['1.4', '1.6'] as const)('the state of a job on scrapyd %s', (version) => {
  test.each([[[]], [['b', 'c', 'd']]])('is followed from pending to finished, asked with %j others', async (others) => {
    await restartAs({ version, pollMs: 200, runMs: 'hold' });
    expect(await stateOf(job.externalId, others)).toBe('unknown');
    await launcher.start(node(), job, options, inTime());
    expect(await stateOf(job.externalId, others)).toBe('pending');
    await waitUntil(() => server.runningIds.length === 1, { what: 'the daemon to poll' });
    expect(await stateOf(job.externalId, others)).toBe('running');
    server.finish();
    expect(await stateOf(job.externalId, others)).toBe('finished');
    server.restart();
    expect(await stateOf(job.externalId, others)).toBe('unknown');
  });

  test.each<ScrapydFault>(['cuts', 'rubbish', 'traceback', '401', '500', 'error'])(
    'is not given where the answer is %s',
    async (fault) => {
      await restartAs({ version });
      server.faults.set('*', fault);
      await expect(stateOf(job.externalId)).rejects.toBeInstanceOf(LauncherCallError);
      await expect(stateOf(job.externalId, ['b', 'c'])).rejects.toBeInstanceOf(LauncherCallError);
    },
  );
});

test('the state of many jobs costs one call', async () => {
  await stateOf('a', ['b', 'c', 'd']);
  expect(server.calls).toEqual({ 'listjobs.json': 1 });
});

test('the load counts what waits and what runs, whoever scheduled it', async () => {
  server.addForeign(3);
  await launcher.start(node(), job, options, inTime());
  expect(await launcher.load(node(), options, inTime())).toBe(4);
  server.faults.set('daemonstatus.json', 'rubbish');
  await expect(launcher.load(node(), options, inTime())).rejects.toBeInstanceOf(LauncherCallError);
});

test('cancelling takes a pending job away at once, and asks a running one to end', async () => {
  await restartAs({ pollMs: 60_000 });
  await launcher.start(node(), job, options, inTime());
  await launcher.cancel(node(), job, options, inTime());
  expect(await stateOf(job.externalId)).toBe('unknown');
  await restartAs({});
  await launcher.start(node(), job, options, inTime());
  await waitUntil(() => server.runningIds.length === 1, { what: 'it to run' });
  await launcher.cancel(node(), job, options, inTime());
  await waitUntil(async () => (await stateOf(job.externalId)) === 'finished', { what: 'it to end' });
});

describe('a payload', () => {
  test.each([
    [{}, undefined],
    [{ spider: 'a', args: { x: 1 }, settings: { A: 'b' }, version: 'r1', priority: 2 }, undefined],
    [{ colour: 1 }, 'colour'],
    [{ spider: 1 }, 'spider'],
    [{ args: { jobid: 'x' } }, 'args'],
    [{ settings: { 'a=b': 'x' } }, 'settings'],
    [{ args: { x: { y: 1 } } }, 'args.x'],
  ])('%j is checked before it is taken', (payload, path) => {
    expect(launcher.checkPayload(payload, options)?.path).toBe(path);
  });

  test('needs a spider where the queue names none', () => {
    expect(launcher.checkPayload({}, {})).toEqual({ path: 'spider', message: expect.stringContaining('is needed') });
  });
});

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type RequestListener, type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { PoolsFileSetup } from '../../src/pool-setup/pools.setup.js';
import { POOLS_SETUP_OPTIONS, type PoolsSetupOptions } from '../../src/pool-setup/pools.setup.options.js';
import { RecordingLogger } from '../support/recording.logger.js';
import { type RedisServer, startRedis } from '../support/redis.server.js';
import { type SelectionApp, givePool, startSelection } from '../support/selection.app.js';
import { waitUntil } from '../support/wait.until.js';

const options: PoolsSetupOptions = { maxBytes: 10_000, timeoutMs: 30_000, importWaitMs: 30_000 };

let server: RedisServer;
let redis: Redis;
let app: SelectionApp;
let setup: PoolsFileSetup;
let logger: RecordingLogger;
let directory: string;
let web: Server;
let origin: string;
let answer: RequestListener;

beforeAll(async () => {
  server = await startRedis();
  redis = server.client();
  app = await startSelection(server.url, [PoolsFileSetup, { provide: POOLS_SETUP_OPTIONS, useValue: options }]);
  setup = app.context.get(PoolsFileSetup);
  web = createServer((request, response) => answer(request, response)).listen(0, '127.0.0.1');
  await waitUntil(() => web.listening);
  origin = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
});
afterAll(async () => {
  web.closeAllConnections();
  web.close();
  await app.close();
  await server.stop();
});
beforeEach(async () => {
  await redis.flushall();
  logger = new RecordingLogger();
  app.context.useLogger(logger);
  directory = await mkdtemp(join(tmpdir(), 'evenhand-pools-'));
  Object.assign(options, { maxBytes: 10_000, timeoutMs: 30_000, importWaitMs: 30_000 });
});
afterEach(() => rm(directory, { recursive: true }));

async function give(name: string, content: string): Promise<string> {
  const path = join(directory, name);
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, content);
  return path;
}

const poolOf = (...sources: object[]) => JSON.stringify({ pools: { shop: { members: { sources } } } }, undefined, 1);
const idsOf = async (pool: string) => (await app.pools.listMembers(pool)).members.map(({ id }) => id);
const keys = async () => (await redis.keys('*')).sort();

async function everything(): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const key of await keys()) found[key] = (await redis.dumpBuffer(key)).toString('base64');
  return found;
}

describe('a pools file', () => {
  const YAML = `
pools:
  shop:
    restore: keep
    capacity: 3
    members:
      mode: replace
      defaultScheme: socks5
      sources:
        - file: lists/a.txt
        - file: lists/b.csv
  search:
`;

  test('sets up pools with their settings and members, and a second run changes nothing', async () => {
    await give('lists/a.txt', '192.0.2.1:80\nrubbish\n192.0.2.2:80');
    await give('lists/b.csv', 'host,port\n192.0.2.2,80\n192.0.2.3,80\nx,y');
    const path = await give('pools.yaml', YAML);
    await setup.run(path);
    expect(await app.pools.get('shop')).toMatchObject({ restore: 'keep', capacity: 3, members: { total: 3 } });
    expect(await idsOf('shop')).toEqual(['socks5://192.0.2.1:80', 'socks5://192.0.2.2:80', 'socks5://192.0.2.3:80']);
    expect(await app.pools.get('search')).toMatchObject({ restore: 'level', capacity: null, members: { total: 0 } });
    expect(logger.lines).toEqual([
      'Pool "shop": 3 added, 0 updated, 0 restored, 0 unchanged, 0 removed, 1 duplicates, 2 rejected, 3 members in all.',
      'Pool "shop": rejected lists/a.txt:2: no host:port found',
      'Pool "shop": rejected lists/b.csv:4: the port is not a decimal number',
    ]);

    const before = await everything();
    logger.lines.length = 0;
    await setup.run(path);
    expect(logger.lines[0]).toContain('0 added, 0 updated, 0 restored, 3 unchanged, 0 removed');
    expect(await everything()).toEqual(before);
  });

  test('keeps the settings that it does not name, and replaces members where it says so', async () => {
    await givePool(app, 'shop', ['old'], { restore: 'reset', initialCount: 5, capacity: 9 });
    await give('lists/a.txt', '192.0.2.1:80');
    await give('lists/b.csv', 'host,port\n');
    await setup.run(await give('pools.yaml', YAML));
    expect(await app.pools.get('shop')).toMatchObject({ restore: 'keep', initialCount: 5, capacity: 3 });
    expect(await idsOf('shop')).toEqual(['socks5://192.0.2.1:80']);
  });

  test('names the first five rejected entries of a pool', async () => {
    await give('a.txt', 'x\n'.repeat(9));
    await setup.run(await give('pools.json', poolOf({ file: 'a.txt' }, { file: 'a.txt' })));
    expect(logger.matching(/rejected a\.txt:[1-5]: no host:port found$/)).toHaveLength(5);
    expect(logger.matching(/rejected a/)).toHaveLength(5);
    expect(logger.matching(/18 rejected/)).toHaveLength(1);
  });

  test('whose lists hold nothing valid leaves the members where it would replace them', async () => {
    await givePool(app, 'shop', ['old']);
    await give('lists/a.txt', 'rubbish');
    await give('lists/b.csv', 'host,port\n');
    await setup.run(await give('pools.yaml', YAML));
    expect(await idsOf('shop')).toEqual(['old']);
    expect(logger.matching(/holds no valid member/)).toHaveLength(1);
  });
});

describe('the start is refused, and nothing was written', () => {
  const twoPools = (shop: object) => JSON.stringify({ pools: { first: { restore: 'keep' }, shop } }, undefined, 1);
  const members = (file: string) => ({ members: { sources: [{ file: 'good.txt' }, { file }] } });

  test.each([
    ['a list that is missing', 'none.txt', 'cannot be read (ENOENT)'],
    ['a list that is a directory', 'folder.txt', 'is not a file'],
    ['a list that is too large', 'large.txt', 'is larger than 10000 bytes'],
    ['a list that is no JSON', 'bad.json', 'is no list of the format json: malformed JSON at line 2, column 1.'],
    [
      'a CSV without a host',
      'bad.csv',
      'is no list of the format csv: The CSV header names no host. Columns seen: a, b. ' +
        'Expected a header row with "host" or "ip", and "port".',
    ],
  ])('for %s', async (_name, file, message) => {
    await give('good.txt', '192.0.2.1:80');
    await mkdir(join(directory, 'folder.txt'));
    await give('large.txt', '#'.repeat(10_001));
    await give('bad.json', '[\n');
    await give('bad.csv', 'a,b\n1,2');
    await expect(setup.run(await give('pools.json', twoPools(members(file))))).rejects.toMatchObject({
      name: 'PoolsFileError',
      problems: [expect.stringMatching(/^pools\.json:\d+: pools\.shop\.members\.sources\.1\.file: /)],
      message: expect.stringContaining(message),
    });
    expect(await keys()).toEqual([]);
  });

  test('for a strategy that nobody knows, with the list of those that are known', async () => {
    await expect(setup.run(await give('pools.json', twoPools({ strategy: 'dice' })))).rejects.toMatchObject({
      code: 'STRATEGY_UNKNOWN',
      known: expect.arrayContaining(['least-assigned']),
    });
    expect(await keys()).toEqual([]);
  });

  test('for a file that is not valid', async () => {
    await expect(setup.run(await give('pools.json', twoPools({ restore: 'none' })))).rejects.toMatchObject({
      problems: [expect.stringMatching(/^pools\.json:7: pools\.shop\.restore: /)],
    });
    expect(await keys()).toEqual([]);
  });
});

test('settings that do not fit those which the pool has are refused with their line', async () => {
  await app.pools.put('shop', { lease: { ttlMs: 5_000, maxTtlMs: 6_000 } });
  const path = await give('pools.yaml', 'pools:\n  shop:\n    lease:\n      ttlMs: 7000\n');
  await expect(setup.run(path)).rejects.toMatchObject({
    problems: ['pools.yaml:4: pools.shop.lease.ttlMs: must be at most lease.maxTtlMs, which is 6000'],
  });
});

describe('a URL', () => {
  const LIST = '192.0.2.1:80\n192.0.2.2:80\n';

  /** Runs with one file and the URL as sources of a pool that has a member. */
  async function runWith(url: string): Promise<void> {
    await givePool(app, 'shop', ['old']);
    await give('a.txt', '192.0.2.9:80');
    await setup.run(await give('pools.json', poolOf({ file: 'a.txt' }, { url, format: 'text' })));
  }

  test('is read with its credentials, which a redirect to another origin does not get', async () => {
    const seen: (string | undefined)[] = [];
    answer = (request, response) => {
      seen.push(`${request.url} ${request.headers.authorization ?? 'nobody'}`);
      if (request.url === '/a?key=x') response.writeHead(302, { location: '/b' }).end();
      else if (request.url === '/b') response.writeHead(307, { location: `${other}/c` }).end();
      else response.end(LIST);
    };
    const other = origin.replace('127.0.0.1', 'localhost');
    await runWith(`${origin.replace('//', '//bob:p%40ss@')}/a?key=x`);
    const basic = `Basic ${Buffer.from('bob:p@ss').toString('base64')}`;
    expect(seen).toEqual([`/a?key=x ${basic}`, `/b ${basic}`, '/c nobody']);
    expect(await idsOf('shop')).toEqual(['http://192.0.2.1:80', 'http://192.0.2.2:80', 'http://192.0.2.9:80', 'old']);
  });

  const failures: [string, RequestListener, string][] = [
    ['answers with an error', (_, response) => response.writeHead(500).end(LIST), 'answered with status 500'],
    ['is not there', (_, response) => response.writeHead(404).end(LIST), 'answered with status 404'],
    ['answers in part', (_, response) => response.writeHead(206).end(LIST), 'answered with status 206'],
    ['is cut off', (_, response) => cutOff(response), 'could not be reached'],
    ['is too large', (_, response) => response.end('#'.repeat(10_001)), 'is larger than 10000 bytes'],
    ['never ends', (_, response) => endless(response), 'is larger than 10000 bytes'],
    ['redirects for ever', (_, response) => response.writeHead(302, { location: '/' }).end(), 'more than 5 times'],
    [
      'redirects elsewhere',
      (_, response) => response.writeHead(302, { location: 'file:///etc/hosts' }).end(),
      'redirects to what is no http(s) URL',
    ],
  ];

  test.each(failures)('that %s is logged, and the pool keeps its members', async (_name, listener, message) => {
    answer = listener;
    await runWith(`${origin.replace('//', '//bob:SECRET@')}/list?token=SECRET`);
    expect(await idsOf('shop')).toEqual(['old']);
    expect(logger.lines).toHaveLength(1);
    expect(logger.lines[0]).toContain(`Pool "shop": ${origin}/list `);
    expect(logger.lines[0]).toContain(message);
    expect(logger.lines.join()).not.toContain('SECRET');
  });

  test('that hangs, before or within its answer, is given up', async () => {
    options.timeoutMs = 200;
    for (const listener of [() => undefined, (_, response) => void response.write(LIST)] as RequestListener[]) {
      answer = listener;
      await runWith(`${origin}/list`);
      expect(await idsOf('shop')).toEqual(['old']);
      expect(logger.lines.pop()).toContain('gave no complete answer within 200 ms');
    }
  });

  test('that nobody answers is logged with the reason', async () => {
    const gone = createServer().listen(0, '127.0.0.1');
    await waitUntil(() => gone.listening);
    const { port } = gone.address() as AddressInfo;
    await new Promise((resolve) => gone.close(resolve));
    await runWith(`http://127.0.0.1:${port}/list`);
    expect(logger.lines.pop()).toContain('could not be reached (ECONNREFUSED)');
  });

  test('that is no list of its format leaves the pool, and the others are set up', async () => {
    answer = (_, response) => void response.end('<html>');
    await give('a.txt', LIST);
    const pools = {
      shop: { members: { sources: [{ url: `${origin}/list.json` }] } },
      search: { members: { sources: [{ file: 'a.txt' }] } },
    };
    await setup.run(await give('pools.json', JSON.stringify({ pools })));
    expect(await idsOf('shop')).toEqual([]);
    expect(await idsOf('search')).toHaveLength(2);
    expect(logger.lines[0]).toContain('is no list of the format json: malformed JSON at line 1, column 1');
  });
});

describe('another import into the pool', () => {
  test('is waited for', async () => {
    await app.pools.put('shop');
    await redis.set('evenhand:{shop}:lock', 'somebody', 'PX', 60_000);
    await give('a.txt', '192.0.2.1:80');
    const path = await give('pools.json', poolOf({ file: 'a.txt' }));
    await redis.config('RESETSTAT');
    const running = setup.run(path);
    await waitUntil(async () => Number(/cmdstat_set:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1]) >= 4);
    expect(await idsOf('shop')).toEqual([]);
    await redis.del('evenhand:{shop}:lock');
    await running;
    expect(await idsOf('shop')).toEqual(['http://192.0.2.1:80']);
  });

  test('that does not end is logged, and the start goes on', async () => {
    options.importWaitMs = 0;
    await app.pools.put('shop');
    await redis.set('evenhand:{shop}:lock', 'somebody', 'PX', 60_000);
    await give('a.txt', '192.0.2.1:80');
    await setup.run(await give('pools.json', poolOf({ file: 'a.txt' })));
    expect(logger.lines).toEqual([expect.stringContaining('Another import into the pool "shop" is under way')]);
  });
});

function cutOff(response: Parameters<RequestListener>[1]): void {
  response.writeHead(200, { 'content-length': '1000' });
  response.write('192.0.2.1:80\n', () => response.destroy());
}

function endless(response: Parameters<RequestListener>[1]): void {
  const more = (): void => {
    while (!response.destroyed && response.write('192.0.2.1:80\n'.repeat(100)));
  };
  response.on('drain', more);
  more();
}

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { type RedisServer, startRedis } from '../support/redis.server.js';
import { RunningService } from '../support/service.js';
import { storedKeys } from '../support/stored.keys.js';
import { waitUntil } from '../support/wait.until.js';

let redisServer: RedisServer;
let redis: Redis;
let service: RunningService;
let before: Record<string, string>;

beforeAll(async () => {
  redisServer = await startRedis();
  redis = redisServer.client();
  service = await RunningService.start({ REDIS_URL: redisServer.url, IMPORT_MAX_BYTES: '2000000' });
  await service.call('PUT', '/v1/pools/shop');
  await service.call('POST', '/v1/pools/shop/members', { members: [{ id: 'a', value: 'TOP-SECRET' }, { id: 'b' }] });
  await waitUntil(async () => (await redis.exists('evenhand:due')) === 0, { what: 'nothing to be due in the pool' });
  before = await everything();
});
afterAll(async () => {
  await service.stop();
  await redisServer.stop();
});

/** All that requests have stored, as it would be dumped. */
async function everything(): Promise<Record<string, string>> {
  const keys = await storedKeys(redis);
  const dumps = await Promise.all(keys.map(async (key) => [key, (await redis.dumpBuffer(key)).toString('hex')]));
  return Object.fromEntries(dumps) as Record<string, string>;
}

interface BadInput {
  method: string;
  path: string;
  body?: unknown;
  type?: string;
  status: number;
  code: string;
  /** What `errors[0].path` must be. */
  at?: string;
}

const JSON_TYPE = 'application/json';

const put = (body: unknown, at: string, type = JSON_TYPE): BadInput => ({
  ...{ method: 'PUT', path: '/v1/pools/shop', body, type, status: 400, code: 'VALIDATION_FAILED', at },
});
const select = (body: unknown, at: string): BadInput => ({
  ...{ method: 'POST', path: '/v1/pools/shop/selections', body, type: JSON_TYPE },
  ...{ status: 400, code: 'VALIDATION_FAILED', at },
});
const batch = (body: unknown, at: string): BadInput => ({
  ...select(body, at),
  path: '/v1/pools/shop/selections/batch',
});
const patch = (body: unknown, at: string): BadInput => ({
  ...{ method: 'PATCH', path: '/v1/pools/shop/members/a', body, type: JSON_TYPE },
  ...{ status: 400, code: 'VALIDATION_FAILED', at },
});
const get = (path: string, at: string): BadInput => ({
  ...{ method: 'GET', path, status: 400, code: 'VALIDATION_FAILED', at },
});
const imported = (query: string, body: unknown, type: string, status: number, code: string, at?: string): BadInput => ({
  ...{ method: 'POST', path: `/v1/pools/shop/members${query}`, body, type, status, code },
  ...(at !== undefined && { at }),
});

const LONG = 'x'.repeat(5_000);
const DEEP = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
const NOT_UTF8 = Uint8Array.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]);

const CASES: [string, BadInput][] = [
  // Names and paths
  ['a pool name in upper case', { ...put({}, 'pool'), path: '/v1/pools/Shop' }],
  ['a pool name that begins with a dot', { ...put({}, 'pool'), path: '/v1/pools/.shop' }],
  ['a pool name with braces', { ...put({}, 'pool'), path: '/v1/pools/%7Bshop%7D' }],
  ['a pool name of 65 characters', { ...put({}, 'pool'), path: `/v1/pools/${'x'.repeat(65)}` }],
  ['a pool name with a slash', { ...put({}, 'pool'), path: '/v1/pools/a%2Fb' }],
  ['a pool name with a line feed', { ...put({}, 'pool'), path: '/v1/pools/a%0A' }],
  ['a pool name of __proto__', { ...put({}, 'pool'), path: '/v1/pools/__proto__' }],
  ['a selection from a pool that no pool can be', { ...select({}, 'pool'), path: '/v1/pools/Shop/selections' }],
  ['a path that is not %-encoded UTF-8', get('/v1/pools/%E4', 'path')],
  ['a path with a lone %', get('/v1/pools/%zz', 'path')],
  ['a member id that is far too long', get(`/v1/pools/shop/members/${'x'.repeat(6_000)}`, 'id')],
  ['a selection whose body is null', select('null', '')],
  ['a selection whose body is false', select('false', '')],
  ['a member id with a control character', get('/v1/pools/shop/members/a%00b', 'id')],
  ['a member id of 513 characters', get(`/v1/pools/shop/members/${'x'.repeat(513)}`, 'id')],
  ['a member id of __proto__', get('/v1/pools/shop/members/__proto__', 'id')],
  [
    'a pool that is not there',
    { method: 'POST', path: '/v1/pools/none/selections', status: 404, code: 'POOL_NOT_FOUND' },
  ],
  [
    'a member that is not there',
    { method: 'GET', path: '/v1/pools/shop/members/c', status: 404, code: 'MEMBER_NOT_FOUND' },
  ],
  [
    'a member named constructor',
    { method: 'GET', path: '/v1/pools/shop/members/constructor', status: 404, code: 'MEMBER_NOT_FOUND' },
  ],
  ['a route that is not there', { method: 'GET', path: '/v2/pools', status: 404, code: 'ROUTE_NOT_FOUND' }],
  [
    'a method that a route does not have',
    { method: 'PATCH', path: '/v1/pools/shop', status: 404, code: 'ROUTE_NOT_FOUND' },
  ],
  // Queries
  ['an unknown query parameter', get('/v1/pools/shop/members?colour=red', 'colour')],
  ['an unknown query parameter of a single read', get('/v1/pools/shop?colour=red', 'colour')],
  ['a query parameter that stands twice', get('/v1/pools/shop/members?limit=1&limit=2', 'limit')],
  ['a page of none', get('/v1/pools/shop/members?limit=0', 'limit')],
  ['a page of 1001', get('/v1/pools/shop/members?limit=1001', 'limit')],
  ['a page of 1e2', get('/v1/pools/shop/members?limit=1e2', 'limit')],
  ['a page of nothing', get('/v1/pools/shop/members?limit=', 'limit')],
  ['a huge page', get('/v1/pools?limit=99999999999999999999', 'limit')],
  ['a cursor of another make', get('/v1/pools/shop/members?cursor=!', 'cursor')],
  ['a state that is none', get('/v1/pools/shop/members?state=tired', 'state')],
  ['a query key of __proto__', get('/v1/pools/shop/members?__proto__=1', '__proto__')],
  ['a mode that is none', imported('?mode=append', '192.0.2.1:80', 'text/plain', 400, 'VALIDATION_FAILED', 'mode')],
  ['dryRun=1', imported('?dryRun=1', '192.0.2.1:80', 'text/plain', 400, 'VALIDATION_FAILED', 'dryRun')],
  [
    'a default scheme that is none',
    imported('?defaultScheme=ftp', '192.0.2.1:80', 'text/plain', 400, 'VALIDATION_FAILED', 'defaultScheme'),
  ],
  [
    'forget=yes',
    {
      method: 'DELETE',
      path: '/v1/pools/shop/members/a?forget=yes',
      status: 400,
      code: 'VALIDATION_FAILED',
      at: 'forget',
    },
  ],
  [
    'force=maybe',
    { method: 'DELETE', path: '/v1/pools/shop?force=maybe', status: 400, code: 'VALIDATION_FAILED', at: 'force' },
  ],
  // Bodies as such
  ['a body that is no JSON', put('{', '')],
  ['a body that is a number', put('7', '')],
  ['a body that is null', put('null', '')],
  ['a body that is an array', put('[]', '')],
  ['a body with a comment', put('{/* hm */}', '')],
  ['a body with something behind it', put('{} {}', '')],
  ['a body of two values that JSON.parse would take the last of', put('{"capacity": 1, "capacity": 2}', 'capacity')],
  ['a duplicate key further down', put('{"lease": {"ttlMs": 1000, "ttlMs": 2000}}', 'lease.ttlMs')],
  ['a duplicate key, once escaped', put('{"capacity": 1, "c\\u0061pacity": 2}', 'capacity')],
  ['a __proto__ key', put('{"__proto__": {"capacity": 1}}', '__proto__')],
  ['a body that is nested 100,000 deep', put(DEEP, Array(64).fill('0').join('.'))],
  ['a body that is not UTF-8', put(NOT_UTF8, '')],
  [
    'a body in another charset',
    {
      ...put('{}', ''),
      type: 'application/json; charset=latin1',
      status: 415,
      code: 'UNSUPPORTED_MEDIA_TYPE',
      at: undefined,
    },
  ],
  [
    'a body of more than 1 MiB',
    {
      ...put(`{"restore": "${'x'.repeat(1_048_576)}"}`, ''),
      status: 413,
      code: 'PAYLOAD_TOO_LARGE',
      at: undefined,
    },
  ],
  [
    'a form',
    {
      ...put('capacity=4', ''),
      type: 'application/x-www-form-urlencoded',
      status: 415,
      code: 'UNSUPPORTED_MEDIA_TYPE',
      at: undefined,
    },
  ],
  [
    'JSON that is called text',
    {
      ...put('{"capacity": 4}', ''),
      type: 'text/plain',
      status: 415,
      code: 'UNSUPPORTED_MEDIA_TYPE',
      at: undefined,
    },
  ],
  // Settings
  ['an unknown setting', put({ colour: 'red' }, 'colour')],
  ['a setting named constructor', put({ constructor: 1 }, 'constructor')],
  ['a strategy that is a number', put({ strategy: 7 }, 'strategy')],
  ['a strategy without a name', put({ strategy: '' }, 'strategy')],
  [
    'a strategy that is not registered',
    { ...put({ strategy: 'toString' }, ''), status: 422, code: 'STRATEGY_UNKNOWN', at: undefined },
  ],
  ['a restore policy that is none', put({ restore: 'forgive' }, 'restore')],
  ['an initial count below zero', put({ initialCount: -1 }, 'initialCount')],
  ['an initial count beyond a billion', put({ initialCount: 1_000_000_001 }, 'initialCount')],
  ['an initial count with a fraction', put({ initialCount: 0.5 }, 'initialCount')],
  ['an initial count as text', put({ initialCount: '5' }, 'initialCount')],
  ['a capacity of zero', put({ capacity: 0 }, 'capacity')],
  ['a capacity of 1001', put({ capacity: 1_001 }, 'capacity')],
  ['a capacity as text', put({ capacity: '4' }, 'capacity')],
  ['a capacity of true', put({ capacity: true }, 'capacity')],
  ['a huge capacity', put('{"capacity": 1e400}', 'capacity')],
  ['a limit beyond a million', put({ limit: 1_000_001 }, 'limit')],
  ['a lease that is no object', put({ lease: 60 }, 'lease')],
  ['an unknown lease setting', put({ lease: { ttl: 60 } }, 'lease.ttl')],
  ['a lease shorter than a second', put({ lease: { ttlMs: 999 } }, 'lease.ttlMs')],
  ['a lease longer than its longest', put({ lease: { ttlMs: 4_000_000 } }, 'lease.ttlMs')],
  // Selections
  ['an unknown field of a selection', select({ colour: 'red' }, 'colour')],
  ['labels that are a list', select({ labels: ['country'] }, 'labels')],
  ['a label that is an object', select({ labels: { country: {} } }, 'labels.country')],
  ['an excluded id that is a number', select({ exclude: ['a', 1] }, 'exclude.1')],
  ['too many excluded ids', select({ exclude: Array.from({ length: 201 }, (_, n) => `m${n}`) }, 'exclude')],
  ['a target with a line feed', select({ target: 'example.com\n' }, 'target')],
  ['a target without a name', select({ target: '' }, 'target')],
  ['a session of 129 characters', select({ session: 's'.repeat(129) }, 'session')],
  ['a wait for a target', select({ target: 'example.com', waitMs: 1_000 }, 'waitMs')],
  ['a wait of more than a minute', select({ waitMs: 60_001 }, 'waitMs')],
  ['a wait of less than nothing', select({ waitMs: -1 }, 'waitMs')],
  ['an owner with a line feed', select({ owner: 'a\nb' }, 'owner')],
  ['a TTL as text', select({ ttlMs: '60000' }, 'ttlMs')],
  ['an owner of 129 characters', select({ owner: 'x'.repeat(129) }, 'owner')],
  ['an owner without a name', select({ owner: '' }, 'owner')],
  ['a requestId that is an object', select({ requestId: {} }, 'requestId')],
  ['a batch without a count', batch({}, 'count')],
  ['a batch without a body', batch(undefined, 'count')],
  ['a batch that waits', batch({ count: 1, waitMs: 10 }, 'waitMs')],
  ['a batch of none', batch({ count: 0 }, 'count')],
  ['a batch of 1001', batch({ count: 1_001 }, 'count')],
  ['a batch of one and a half', batch({ count: 1.5 }, 'count')],
  ['a batch of text', batch({ count: '10' }, 'count')],
  // Member changes
  ['a state that cannot be set', patch({ state: 'withdrawn' }, 'state')],
  ['a weight of zero', patch({ weight: 0 }, 'weight')],
  ['a weight of 101', patch({ weight: 101 }, 'weight')],
  ['a weight of null', patch({ weight: null }, 'weight')],
  ['labels that are a list', patch({ labels: ['DE'] }, 'labels')],
  ['a label that is an object', patch({ labels: { a: {} } }, 'labels.a')],
  ['a label value of 257 characters', patch({ labels: { a: 'x'.repeat(257) } }, 'labels.a')],
  ['a label without a name', patch({ labels: { '': 'x' } }, 'labels')],
  ['33 labels', patch({ labels: Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`l${n}`, n])) }, 'labels')],
  ['a label named __proto__', patch('{"labels": {"__proto__": "x"}}', 'labels.__proto__')],
  ['a new id', patch({ id: 'c' }, 'id')],
  ['a new value', patch({ value: 'TOP-SECRET' }, 'value')],
  // Imports
  ['an import of a type that is no list', imported('', '<xml/>', 'application/xml', 415, 'UNSUPPORTED_MEDIA_TYPE')],
  ['an import without a type', imported('', Uint8Array.from([1]), '', 415, 'UNSUPPORTED_MEDIA_TYPE')],
  ['an import that is too large', imported('', 'x'.repeat(2_000_001), 'text/plain', 413, 'PAYLOAD_TOO_LARGE')],
  ['an import of malformed JSON', imported('', '{"members": [', JSON_TYPE, 400, 'VALIDATION_FAILED', '')],
  ['an import of another form', imported('', '"text"', JSON_TYPE, 400, 'VALIDATION_FAILED', '')],
  [
    'an import whose members are no array',
    imported('', { members: {} }, JSON_TYPE, 400, 'VALIDATION_FAILED', 'members'),
  ],
  [
    'an import with another field beside',
    imported('', { members: [], mode: 'replace' }, JSON_TYPE, 400, 'VALIDATION_FAILED', 'mode'),
  ],
  [
    'an import with a duplicate key',
    imported('', '{"members": [{"id": "c", "id": "d"}]}', JSON_TYPE, 400, 'VALIDATION_FAILED', 'members.0.id'),
  ],
  [
    'an import with a __proto__ label',
    imported(
      '',
      '{"members": [{"id": "c", "labels": {"__proto__": 1}}]}',
      JSON_TYPE,
      400,
      'VALIDATION_FAILED',
      'members.0.labels.__proto__',
    ),
  ],
  ['a CSV without a host', imported('', 'name,age\nx,1\n', 'text/csv', 422, 'COLUMNS_UNKNOWN')],
  ['a replacement with nothing but rubbish', imported('?mode=replace', 'rubbish', 'text/plain', 422, 'EMPTY_SOURCE')],
  ['a replacement with nothing', imported('?mode=replace', '', 'text/plain', 422, 'EMPTY_SOURCE')],
  [
    'an import into no pool',
    { ...imported('', '192.0.2.1:80', 'text/plain', 404, 'POOL_NOT_FOUND'), path: '/v1/pools/none/members' },
  ],
];

describe('bad input gets the right problem document, and nothing changes', () => {
  test.each(CASES)('%s', async (_name, { method, path, body, type, status, code, at }) => {
    const headers: Record<string, string> = type === undefined || body === undefined ? {} : { 'content-type': type };
    const answer = await service.call(method, path, body, headers);
    expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
    expect(answer.body).toMatchObject({
      ...{ type: expect.stringMatching(/^urn:evenhand:problem:[a-z-]+$/), title: expect.any(String) },
      ...{ status, code, detail: expect.any(String), instance: path.split('?')[0] },
    });
    expect(answer.status).toBe(status);
    if (at !== undefined) expect(answer.body['errors']).toMatchObject([{ path: at, message: expect.any(String) }]);
    expect(JSON.stringify(answer.body)).not.toContain('SECRET');
    expect(await everything()).toEqual(before);
  });

  test.each([
    ['an id with a control character', { id: 'a\u0007b' }],
    ['an id of 513 characters', { id: 'x'.repeat(513) }],
    ['an id of __proto__', { id: '__proto__' }],
    ['an id that is half a character', { id: '\ud800' }],
    ['an id that is a number', { id: 7 }],
    ['a value of 4097 characters', { id: 'c', value: 'x'.repeat(4_097) }],
    ['a value that is no proxy and has no id', { value: 'just a text' }],
    ['neither id nor value', { labels: {} }],
    ['an unknown field', { id: 'c', colour: 'red' }],
    ['a weight with a fraction', { id: 'c', weight: 1.5 }],
    ['a capacity of 0', { id: 'c', capacity: 0 }],
    ['a label of null', { id: 'c', labels: { a: null } }],
    ['no object', 'nonsense'],
    ['null', null],
    ['a text that is too long', LONG],
  ])('a list entry with %s is rejected by its position, and the others are only looked at', async (_name, entry) => {
    const members = [{ id: 'a' }, entry];
    const report = await service.call('POST', '/v1/pools/shop/members?dryRun=true', { members });
    expect(report).toMatchObject({ status: 200, body: { unchanged: 1, rejectedTotal: 1, rejected: [{ line: 2 }] } });
    expect(await everything()).toEqual(before);
  });

  test.each([
    { what: 'with an announced length', length: 40_000_000, status: 413 },
    { what: 'in chunks', length: 40_000_000, duplex: 'half' as const, status: 413 },
    { what: 'compressed', length: 1_900_000, encoding: 'gzip', status: 415 },
  ])(
    'who sends too much $what is told so, and not cut off',
    async ({ length, duplex, encoding = 'identity', status }) => {
      const body = new Uint8Array(length);
      for (let n = 0; n < 10; n++) {
        const response = await fetch(`${service.url}/v1/pools/shop/members`, {
          method: 'POST',
          headers: { 'content-type': 'text/plain', 'content-encoding': encoding },
          ...(duplex ? { body: new Blob([body]).stream(), duplex } : { body }),
        });
        expect(response.status).toBe(status);
        await response.text();
      }
      expect(await everything()).toEqual(before);
    },
  );
});

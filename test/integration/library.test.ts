import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Controller, type DynamicModule, type INestApplication, Module, Param, Post, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { Redis } from 'ioredis';
import {
  PoolService,
  RestModule,
  SelectionModule,
  type SelectionOptionsInput,
  SelectionService,
} from '../../src/index.js';
import { AnyMemberStrategy } from '../contract/host.strategies.js';
import { type RedisServer, startRedis } from '../support/redis.server.js';
import { waitUntil } from '../support/wait.until.js';

const adapters = { Express: () => new ExpressAdapter(), Fastify: () => new FastifyAdapter() };
type Platform = keyof typeof adapters;
const platforms = Object.keys(adapters) as Platform[];

@Controller('jobs')
class JobsController {
  constructor(private readonly selection: SelectionService) {}

  @Post(':pool')
  async next(@Param('pool') pool: string) {
    const { selection, reason } = await this.selection.select(pool);
    return { proxy: selection?.member.value ?? null, reason };
  }
}

@Controller('other')
class OtherController extends JobsController {}

let server: RedisServer;
let redis: Redis;
let app: INestApplication | undefined;

beforeAll(async () => {
  server = await startRedis();
  redis = server.client();
});
afterAll(async () => {
  await server.stop();
});
beforeEach(async () => {
  await redis.flushall();
});
afterEach(async () => {
  await app?.close();
  app = undefined;
});

function options(keyPrefix = 'evenhand'): SelectionOptionsInput {
  return { redis: { connection: { url: server.url }, keyPrefix } };
}

/** A host's own module with a controller that selects. */
function jobs(selection: DynamicModule, controller: Type = JobsController): DynamicModule {
  @Module({})
  class JobsModule {}
  return { module: JobsModule, imports: [selection], controllers: [controller] };
}

async function start(platform: Platform, imports: DynamicModule[], providers: Type[] = []): Promise<string> {
  @Module({})
  class Host {}
  const host = { module: Host, imports, providers };
  app = await NestFactory.create(host, adapters[platform](), { logger: false, abortOnError: false });
  await app.listen(0, '127.0.0.1');
  return app.getUrl();
}

async function post(url: string, body?: string, type = 'application/json'): Promise<Record<string, unknown>> {
  const response = await fetch(url, {
    method: 'POST',
    ...(body !== undefined && { body, headers: { 'content-type': type } }),
  });
  return (await response.json()) as Record<string, unknown>;
}

async function fill(pool: string, lines: string, pools = app!.get(PoolService, { strict: false })): Promise<void> {
  await pools.put(pool);
  await pools.importMembers(pool, { format: 'text', body: lines });
}

function poolsOf(selection: DynamicModule): PoolService {
  return app!.select(selection).get(PoolService, { strict: true });
}

@Module({})
class ConfigModule {}

const asyncOptions = () =>
  SelectionModule.forRootAsync({
    imports: [{ module: ConfigModule, providers: [{ provide: 'URL', useValue: server.url }], exports: ['URL'] }],
    inject: ['URL'],
    useFactory: async (url: unknown) => ({ redis: { connection: { url: url as string } } }),
  });

describe.each(platforms)('in a Nest application on %s', (platform) => {
  test.each([
    ['forRoot', () => SelectionModule.forRoot(options())],
    ['forRootAsync', asyncOptions],
  ])('a controller of the host selects, with %s', async (_way, selection) => {
    const url = await start(platform, [jobs(selection())]);
    await fill('shop', '192.0.2.1:8080\nsocks5://user:secret@192.0.2.2:1080');
    const answers = [await post(`${url}/jobs/shop`), await post(`${url}/jobs/shop`), await post(`${url}/jobs/shop`)];
    const [http, socks] = ['http://192.0.2.1:8080', 'socks5://user:secret@192.0.2.2:1080'];
    expect(answers.map(({ proxy }) => proxy)).toEqual([http, socks, http]);
    await fill('empty', '');
    expect(await post(`${url}/jobs/empty`)).toEqual({ proxy: null, reason: 'EMPTY_POOL' });
  });

  test('two modules with prefixes of their own know nothing of each other', async () => {
    const [ours, theirs] = [SelectionModule.forRoot(options('ours')), SelectionModule.forRoot(options('theirs'))];
    const url = await start(platform, [jobs(ours), jobs(theirs, OtherController)]);
    await fill('shop', '192.0.2.1:8080', poolsOf(ours));
    await fill('shop', '198.51.100.1:8080', poolsOf(theirs));
    for (let n = 0; n < 2; n++) {
      expect((await post(`${url}/jobs/shop`)).proxy).toBe('http://192.0.2.1:8080');
      expect((await post(`${url}/other/shop`)).proxy).toBe('http://198.51.100.1:8080');
    }
    const keys = await redis.keys('*');
    expect(keys.filter((key) => !/^(ours|theirs):/.test(key))).toEqual([]);
  });

  test('RestModule adds the REST API, where a strategy of the host works too', async () => {
    const selection = SelectionModule.forRoot(options());
    const url = await start(platform, [selection, RestModule.register(selection)], [AnyMemberStrategy]);
    const pool = `${url}/v1/pools/shop`;
    const headers = { 'content-type': 'application/json' };
    const put = await fetch(pool, { method: 'PUT', headers, body: '{"strategy": "any-member"}' });
    expect(put.status).toBe(201);
    expect(await post(`${pool}/members`, '{"members": [{"id": "a"}]}')).toMatchObject({ added: 1 });
    expect(await post(`${pool}/members`, '192.0.2.1:8080\n', 'text/plain')).toMatchObject({ added: 1, total: 2 });
    expect(await post(`${pool}/selections`)).toMatchObject({ selection: { assigned: 1, lease: null } });
    expect(await (await fetch(pool)).json()).toMatchObject({ strategy: 'any-member', assigned: 1 });
  });
});

test('a module that is global serves modules that do not import it', async () => {
  const selection = SelectionModule.forRoot({ ...options(), isGlobal: true });
  const url = await start('Fastify', [selection, { ...jobs(selection), imports: [] }]);
  await fill('shop', '192.0.2.1:8080');
  expect((await post(`${url}/jobs/shop`)).proxy).toBe('http://192.0.2.1:8080');
});

test.each([
  ['forRoot', (wrong: SelectionOptionsInput) => SelectionModule.forRoot(wrong)],
  ['forRootAsync', (wrong: SelectionOptionsInput) => SelectionModule.forRootAsync({ useFactory: () => wrong })],
])('a wrong option of %s stops the start, and the error names the field', async (_way, moduleOf) => {
  const wrong = { redis: { ...options().redis, commandTimeoutMs: 1 } };
  await expect(start('Fastify', [moduleOf(wrong)])).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
    problems: [{ path: 'redis.commandTimeoutMs' }],
  });
});

test('a default strategy that is unknown stops the start', async () => {
  const selection = SelectionModule.forRoot({ ...options(), defaultStrategy: 'fastest' });
  await expect(start('Fastify', [selection])).rejects.toMatchObject({ code: 'STRATEGY_UNKNOWN' });
});

test('closing the application closes its connection to Redis, and selects nothing after that', async () => {
  const connections = async () => ((await redis.client('LIST')) as string).trim().split('\n').length;
  const before = await connections();
  await start('Fastify', [jobs(SelectionModule.forRoot(options()))]);
  await fill('shop', '192.0.2.1:8080');
  expect(await connections()).toBeGreaterThan(before);
  const selection = app!.get(SelectionService, { strict: false });
  await app!.close();
  await waitUntil(async () => (await connections()) === before, { what: 'the connection to close' });
  await expect(selection.select('shop')).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
  expect(await redis.get('evenhand:{shop}:assigned')).toBeNull();
});

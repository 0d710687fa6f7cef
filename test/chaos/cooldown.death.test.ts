import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { type RedisServer, startRedis } from '../support/redis.server.js';
import { type SelectionApp, startSelection } from '../support/selection.app.js';
import { RunningService } from '../support/service.js';
import { waitUntil } from '../support/wait.until.js';

const SHOP = '/v1/pools/shop';
const COOLDOWN_MS = 1_000;
/** How long after its end somebody else may take to let the member return: two looks at what is due, and a busy machine. */
const GRACE_MS = 3_000;
const ROUNDS = 4;
const HEALTH = { failures: 1, cooldownMs: COOLDOWN_MS, jitter: 0, maxEjected: 1 };

let server: RedisServer;
let redis: Redis;
let doomed: RunningService;
let survivor: { stop(): Promise<unknown> };

beforeAll(async () => {
  server = await startRedis();
  redis = server.client();
});
afterAll(() => server.stop());
beforeEach(async () => {
  await redis.flushall();
  doomed = await RunningService.start({ REDIS_URL: server.url });
});
afterEach(async () => {
  await doomed.stop('SIGKILL');
  await survivor.stop();
});

const service = () => RunningService.start({ REDIS_URL: server.url });
async function application(): Promise<{ stop(): Promise<void> }> {
  const app: SelectionApp = await startSelection(server.url);
  return { stop: () => app.close() };
}

const memberPath = (id: string) => `${SHOP}/members/${id}`;
const isEligible = async (id: string) => (await redis.zscore('evenhand:{shop}:eligible', id)) !== null;

/** Looks past all processes, so that nobody is asked anything. Resolves with how late it was, in ms. */
async function backAfter(id: string, endsMs: number): Promise<number> {
  await waitUntil(() => isEligible(id), {
    deadlineMs: endsMs - Date.now() + GRACE_MS,
    what: `${id} to return`,
  });
  return Date.now() - endsMs;
}

async function fill(strategy: string, health = HEALTH): Promise<void> {
  await doomed.call('PUT', SHOP, { strategy, health });
  await doomed.call('POST', `${SHOP}/members`, { members: [{ id: 'a' }, { id: 'b' }] });
  // What an import leaves to be looked at is done, so that the pool is idle.
  await waitUntil(async () => (await redis.exists('evenhand:due')) === 0, { what: 'nothing to be due' });
}

test.each([
  { strategy: 'least-assigned', other: 'a service', start: service, isThere: true },
  { strategy: 'least-concurrency', other: 'a service', start: service, isThere: false },
  { strategy: 'least-concurrency', other: 'an application', start: application, isThere: true },
  { strategy: 'least-assigned', other: 'an application', start: application, isThere: false },
])(
  'the member that a process let cool and left behind returns by $other that nobody asks, there before: $isThere, under $strategy',
  async ({ strategy, start, isThere }) => {
    await fill(strategy);
    if (isThere) survivor = await start();
    const { body } = await doomed.call('POST', `${memberPath('a')}/outcomes`, { outcome: 'failure' });
    await doomed.stop('SIGKILL');
    expect(body).toMatchObject({ status: 'counted', reason: 'cooling' });
    if (!isThere) {
      await waitUntil(() => Date.now() > Date.parse(String(body['returnsAt'])), { what: 'the cooldown to end' });
      // Nobody is there to let it return.
      expect(await isEligible('a')).toBe(false);
      survivor = await start();
    }
    const lateMs = await backAfter('a', Math.max(Date.now(), Date.parse(String(body['returnsAt']))));
    console.info(`back ${lateMs} ms after the end of the cooldown`);
    expect(await redis.zcard('evenhand:{shop}:returns')).toBe(0);
  },
);

/** Kills the process as soon as Redis has noted when a member returns: mostly before it is told, and notes what follows. */
async function killAtTheStart(): Promise<void> {
  const watcher = server.client();
  await watcher.config('SET', 'notify-keyspace-events', 'Kz');
  await watcher.subscribe('__keyspace@0__:evenhand:{shop}:returns');
  const killed = new Promise<void>((resolve) => {
    watcher.once('message', () => {
      doomed.child.kill('SIGKILL');
      resolve();
    });
  });
  const outcomes = ['a', 'b'].map((id) => ({ id, outcome: 'failure' }));
  // Whether it was still answered is of no account.
  await doomed.call('POST', `${SHOP}/outcomes`, { outcomes }).catch(() => undefined);
  await killed;
  watcher.disconnect();
}

test('a process that is killed in the midst of letting members cool leaves none behind', async () => {
  survivor = await application();
  for (let round = 0; round < ROUNDS; round++) {
    await fill('least-concurrency');
    await killAtTheStart();
    for (const id of ['a', 'b']) await backAfter(id, Date.now() + COOLDOWN_MS);
    await redis.flushall();
    await doomed.stop('SIGKILL');
    doomed = await service();
  }
});

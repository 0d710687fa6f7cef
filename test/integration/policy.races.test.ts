import { fork } from 'node:child_process';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { RedisClient } from '../../src/redis/redis.client.js';
import { REDIS_CLIENT } from '../../src/redis/redis.tokens.js';
import { LeaseService } from '../../src/selection/leases/lease.service.js';
import { exited, killAtExit } from '../support/child.processes.js';
import { poolProblems } from '../support/pool.invariants.js';
import { importMembers, type SelectionApp, startSelection } from '../support/selection.app.js';
import { useSelection } from '../support/use.selection.js';
import { waitUntil } from '../support/wait.until.js';

const setup = useSelection();
let other: SelectionApp;

beforeAll(async () => {
  other = await startSelection(setup.server.url);
});
afterAll(() => other.close());

const only = (country: string) => ({ policy: { labels: { required: { country } } } });
const DE = { country: 'DE' };
const FR = { country: 'FR' };
const COUNTRIES = ['DE', 'FR', 'IT'];
const members = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ id: `m${n}`, labels: { country: COUNTRIES[n % 3]! } }));
const countryOf = (id: string) => COUNTRIES[Number(id.slice(1)) % 3];

/** Selects until it is stopped, and ends every lease at once; says what it got by calls that began after `from`. */
class Selectors {
  private isStopped = false;
  private from = Infinity;
  private readonly loops: Promise<void>[];
  readonly late: string[] = [];
  selected = 0;

  constructor(apps: readonly SelectionApp[]) {
    this.loops = apps.flatMap((app) => Array.from({ length: 4 }, () => this.loop(app)));
  }

  markNow(): void {
    this.from = performance.now();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await Promise.all(this.loops);
  }

  private async loop(app: SelectionApp): Promise<void> {
    while (!this.isStopped) {
      const beganMs = performance.now();
      const { selection } = await app.selection.select('shop');
      if (!selection) continue;
      this.selected += 1;
      if (beganMs > this.from) this.late.push(selection.member.id);
      if (selection.lease) await app.context.get(LeaseService).complete('shop', selection.lease.id);
    }
  }
}

test.each(['least-assigned', 'least-concurrency', 'least-recently-used', 'random'])(
  'under %s nobody gets a member that violates the policy once the change has been answered',
  async (strategy) => {
    const { pools } = setup.app;
    await pools.put('shop', { strategy });
    await importMembers(setup.app, 'shop', members(3_000));
    const selectors = new Selectors([setup.app, other]);
    await pools.put('shop', only('FR'));
    selectors.markNow();
    await waitUntil(() => selectors.late.length > 200);
    await selectors.stop();
    expect(new Set(selectors.late.map(countryOf))).toEqual(new Set(['FR']));
    expect(await pools.get('shop')).toMatchObject({ members: { eligible: 1_000, withdrawn: 2_000 }, inFlight: 0 });
    expect(await poolProblems(setup.redis)).toEqual([]);
  },
);

test.each(['least-assigned', 'least-concurrency', 'least-recently-used', 'random'])(
  'under %s filters can be declared and dropped while selections go on',
  async (strategy) => {
    const { pools } = setup.app;
    await pools.put('shop', { strategy });
    await importMembers(setup.app, 'shop', members(5_000));
    const selectors = new Selectors([setup.app, other]);
    await pools.put('shop', { filters: [['country'], ['country', 'type']] });
    await waitUntil(() => selectors.selected > 300);
    await selectors.stop();
    expect(await setup.redis.zcard('evenhand:{shop}:views')).toBe(5_000);
    expect(await poolProblems(setup.redis)).toEqual([]);
    await pools.put('shop', { filters: [] });
    expect(await setup.redis.exists('evenhand:{shop}:views')).toBe(0);
  },
);

test('changes of the same member leave a verdict on what it is', async () => {
  await setup.app.pools.put('shop', { ...only('DE'), filters: [['country']] });
  const ids = Array.from({ length: 20 }, (_, n) => `m${n}`);
  await importMembers(setup.app, 'shop', ids);
  for (let round = 0; round < 60; round++) {
    const relabel = (id: string) => setup.app.pools.patchMember('shop', id, { labels: round % 2 ? DE : FR });
    const reweigh = (id: string) => other.pools.patchMember('shop', id, { weight: (round % 3) + 1 });
    await Promise.all([...ids.map(relabel), ...ids.map(reweigh)]);
    expect(await poolProblems(setup.redis)).toEqual([]);
  }
});

test('a member that is changed while an import judges it is judged as it is by then', async () => {
  await setup.app.pools.put('shop', { ...only('DE'), filters: [['country']] });
  await importMembers(setup.app, 'shop', [{ id: 'm0', labels: DE }]);
  const redis = other.context.get<RedisClient>(REDIS_CLIENT);
  const read = redis.hmget.bind(redis) as (...args: string[]) => Promise<(string | null)[]>;
  const reads = jest.spyOn(redis, 'hmget').mockImplementationOnce(async (...args: unknown[]) => {
    const found = await read(...(args as string[]));
    await setup.app.pools.patchMember('shop', 'm0', { labels: FR });
    return found;
  });
  await importMembers(other, 'shop', [{ id: 'm0', weight: 3 }]);
  expect(reads).toHaveBeenCalledTimes(2);
  reads.mockRestore();
  expect(await setup.app.pools.getMember('shop', 'm0')).toMatchObject({ reason: 'policy', labels: FR, weight: 3 });
  expect(await poolProblems(setup.redis)).toEqual([]);
});

test('two changes of the policy at once leave the members judged by the one that is shown', async () => {
  await setup.app.pools.put('shop', {});
  await importMembers(setup.app, 'shop', members(1_500));
  for (let round = 0; round < 6; round++) {
    const [one, two] = [only('DE'), { ...only('FR'), filters: round % 2 ? [['country']] : [] }];
    await Promise.all([setup.app.pools.put('shop', one), other.pools.put('shop', two)]);
    expect(await setup.app.pools.get('shop')).toMatchObject({ members: { eligible: 500 } });
    expect(await poolProblems(setup.redis)).toEqual([]);
    await setup.app.pools.put('shop', { policy: null });
  }
});

test('members that are imported, changed, cooled and removed while others are judged end up right', async () => {
  await setup.app.pools.put('shop', {});
  await importMembers(setup.app, 'shop', members(2_000));
  for (let round = 0; round < 5; round++) {
    let isDone = false;
    const change = async (n: number) => {
      for (let at = n; !isDone; at += 7) {
        const id = `m${at % 2_000}`;
        await other.pools.patchMember('shop', id, { labels: at % 2 ? DE : FR });
        await other.pools.patchMember('shop', id, { cooldownMs: 50 });
      }
    };
    const changes = Array.from({ length: 20 }, (_, n) => change(n * 100));
    const relabelled = members(3_000).map((member) => ({ ...member, labels: round % 2 ? DE : FR }));
    const imports = importMembers(other, 'shop', relabelled);
    await setup.app.pools.put('shop', { ...only(COUNTRIES[round % 2]!), filters: [['country']].slice(round % 2) });
    isDone = true;
    await Promise.all([...changes, imports]);
    await Promise.all([2_100, 2_200, 2_300].map((n) => setup.app.pools.removeMember('shop', `m${n + round}`)));
    await waitUntil(async () => (await setup.redis.zcard('evenhand:{shop}:returns')) === 0);
    expect(await poolProblems(setup.redis)).toEqual([]);
  }
});

const PROGRAM = new URL('../support/put.process.mjs', import.meta.url);

test('what a process that was killed leaves half judged, another finishes', async () => {
  await setup.app.pools.put('shop', {});
  await importMembers(setup.app, 'shop', members(20_000));
  const judging = () => setup.redis.hget('evenhand:{shop}:settings', 'judging');
  let wasHalfDone = false;
  for (let attempt = 0; attempt < 5 && !wasHalfDone; attempt++) {
    const settings = JSON.stringify({ ...only(COUNTRIES[attempt % 3]!), filters: [['country']] });
    const child = fork(PROGRAM, [setup.server.url, 'shop', settings], { execArgv: [], stdio: 'ignore', env: {} });
    killAtExit(child);
    await waitUntil(async () => (await judging()) || child.exitCode !== null);
    child.kill('SIGKILL');
    await exited(child);
    wasHalfDone = (await judging()) !== null;
  }
  expect(wasHalfDone).toBe(true);
  await waitUntil(async () => (await judging()) === null, { deadlineMs: 30_000, what: 'the end of the judging' });
  expect(await poolProblems(setup.redis)).toEqual([]);
});

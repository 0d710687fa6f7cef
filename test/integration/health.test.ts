import { describe, expect, test } from '@jest/globals';
import { OutcomeService } from '../../src/eligibility/health/outcome.service.js';
import type { Outcome } from '../../src/eligibility/health/outcome.types.js';
import type { PoolChanges } from '../../src/pool/pool.settings.js';
import { LeaseService } from '../../src/selection/leases/lease.service.js';
import { givePool, importMembers } from '../support/selection.app.js';
import { useSelection } from '../support/use.selection.js';
import { waitUntil } from '../support/wait.until.js';

const setup = useSelection();
const POOL = 'shop';
const MINUTE_MS = 60_000;
const HEALTH = { failures: 3, windowMs: MINUTE_MS, cooldownMs: MINUTE_MS, jitter: 0, maxEjected: 1 };
const STRATEGIES = ['least-assigned', 'least-concurrency'];

const fill = (members: string[], settings: PoolChanges = { health: HEALTH }) =>
  givePool(setup.app, POOL, members, settings);
const report = (id: string, outcome: Outcome) => setup.app.context.get(OutcomeService).report(POOL, id, outcome);
const member = (id: string) => setup.app.pools.getMember(POOL, id);

async function fail(id: string, times = 1): Promise<void> {
  for (let n = 0; n < times; n++) await report(id, { outcome: 'failure' });
}

async function coolsForMs(id: string): Promise<number> {
  const { reason, returnsAt } = await member(id);
  return reason === 'cooling' ? Date.parse(returnsAt!) - Date.now() : 0;
}

/** Ends the cooldown of a member as time would. */
async function endCooldown(id: string): Promise<void> {
  const facts = (await setup.redis.hget(`evenhand:{${POOL}}:facts`, id))!;
  const past = facts.replace(/^(\S+ \S+) \d+ \d+/, '$1 2 1');
  await setup.redis.hset(`evenhand:{${POOL}}:facts`, id, past);
  await setup.redis.zadd(`evenhand:{${POOL}}:returns`, 2, id);
  await setup.app.pools.put(POOL);
}

describe.each(STRATEGIES)('under %s', (strategy) => {
  test('so many failures within the window begin a cooldown, which ends by itself', async () => {
    await fill(['a', 'b'], { strategy, health: { ...HEALTH, cooldownMs: 1_000 } });
    await fail('a', 2);
    expect((await member('a')).state).toBe('eligible');
    await fail('a');
    expect(await member('a')).toMatchObject({ reason: 'cooling', evidence: '3 failures within 60 s' });
    const { selections } = await setup.app.selection.selectBatch(POOL, { count: 2 });
    expect(selections.map((each) => each.member.id)).toEqual(['b', 'b']);
    await waitUntil(async () => (await member('a')).state === 'eligible');
  });

  test('all members that fail, since what they are used on is down, are withdrawn up to the cap', async () => {
    const ids = Array.from({ length: 10 }, (_, n) => `m${n}`);
    await fill(ids, { strategy, health: { ...HEALTH, maxEjected: 0.3 } });
    for (let round = 0; round < 5; round++) for (const id of ids) await fail(id);
    expect((await setup.app.pools.get(POOL)).members).toEqual({ total: 10, eligible: 7, withdrawn: 3 });
  });

  test('a member that is deleted while it cools and is lent stays deleted', async () => {
    await fill(['a', 'b'], { strategy, health: HEALTH });
    const { selection } = await setup.app.selection.select(POOL);
    const id = selection!.member.id;
    await report(id, { outcome: 'banned' });
    await setup.app.pools.removeMember(POOL, id);
    if (selection!.lease) {
      await setup.app.context.get(LeaseService).complete(POOL, selection!.lease.id, { outcome: 'success' });
    }
    await expect(report(id, { outcome: 'success' })).rejects.toMatchObject({ code: 'MEMBER_NOT_FOUND' });
    await setup.app.pools.put(POOL);
    expect((await setup.app.pools.get(POOL)).members.total).toBe(1);
    expect(await setup.redis.hexists(`evenhand:{${POOL}}:facts`, id)).toBe(0);
  });
});

test('whose cooldown has ended comes back to whoever asks, also where nobody looks after the pool', async () => {
  await fill(['a'], {});
  await report('a', { outcome: 'banned' });
  await setup.redis.del('evenhand:due');
  const facts = (await setup.redis.hget(`evenhand:{${POOL}}:facts`, 'a'))!;
  await setup.redis.hset(`evenhand:{${POOL}}:facts`, 'a', facts.replace(/^(\S+ \S+) \d+ \d+/, '$1 2 1'));
  await setup.redis.zadd(`evenhand:{${POOL}}:returns`, 2, 'a');
  expect((await setup.app.selection.select(POOL)).selection?.member.id).toBe('a');
});

test('ten leases that fail within a moment begin one cooldown, and those that fail late do not lengthen it', async () => {
  const { selection, context } = setup.app;
  await fill(['a'], { strategy: 'least-concurrency', health: HEALTH });
  const { selections } = await selection.selectBatch(POOL, { count: 10 });
  const leases = selections.map(({ lease }) => lease!.id);
  const complete = (id: string) => context.get(LeaseService).complete(POOL, id, { outcome: 'failure' });
  await Promise.all(leases.slice(0, 6).map(complete));
  const { returnsAt } = await member('a');
  expect(returnsAt).not.toBeNull();
  for (const id of leases.slice(6)) await complete(id);
  expect(await member('a')).toMatchObject({ reason: 'cooling', returnsAt });
  await endCooldown('a');
  expect((await member('a')).state).toBe('eligible');
});

test('what began before the latest cooldown does not count, nor what is reported of one that cools', async () => {
  await fill(['a', 'b']);
  const before = new Date(Date.now() - 1_000).toISOString();
  await fail('a', 3);
  const { returnsAt } = await member('a');
  await fail('a', 3);
  for (let n = 0; n < 3; n++) await report('a', { outcome: 'banned', selectedAt: before });
  expect((await member('a')).returnsAt).toBe(returnsAt);
  await setup.app.pools.patchMember(POOL, 'a', { state: 'eligible' });
  for (let n = 0; n < 3; n++) await report('a', { outcome: 'failure', selectedAt: before });
  expect((await member('a')).state).toBe('eligible');
});

test('a cooldown of ten minutes that is followed by one of a minute stays one of ten', async () => {
  await fill(['a', 'b']);
  await setup.app.pools.patchMember(POOL, 'a', { cooldownMs: 10 * MINUTE_MS });
  const { returnsAt } = await member('a');
  await setup.app.pools.patchMember(POOL, 'a', { cooldownMs: MINUTE_MS });
  await report('a', { outcome: 'banned', selectedAt: new Date(Date.now() + 1_000).toISOString() });
  expect(Date.parse((await member('a')).returnsAt!)).toBeGreaterThanOrEqual(Date.parse(returnsAt!));
});

test('each further cooldown is twice as long, up to the longest; a success in between makes up for one', async () => {
  await fill(['a', 'b'], { health: { ...HEALTH, failures: 1, maxCooldownMs: 3 * MINUTE_MS } });
  const lengths: number[] = [];
  for (const outcome of ['failure', 'failure', 'failure', 'success', 'success', 'failure'] as const) {
    await report('a', { outcome });
    if (outcome === 'failure') lengths.push(Math.round((await coolsForMs('a')) / MINUTE_MS));
    if (outcome === 'failure') await endCooldown('a');
  }
  expect(lengths).toEqual([1, 2, 3, 2]);
});

test('cooldowns are longer or shorter by the jitter', async () => {
  const ids = Array.from({ length: 40 }, (_, n) => `m${n}`);
  await fill(ids, { health: { ...HEALTH, failures: 1, jitter: 0.5 } });
  const lengths: number[] = [];
  for (const id of ids) {
    await fail(id);
    lengths.push(await coolsForMs(id));
  }
  expect(Math.min(...lengths)).toBeGreaterThan(MINUTE_MS / 2 - 1_000);
  expect(Math.max(...lengths)).toBeLessThanOrEqual(1.5 * MINUTE_MS);
  expect(Math.max(...lengths) - Math.min(...lengths)).toBeGreaterThan(MINUTE_MS / 4);
});

test('failures outside of the window are forgotten', async () => {
  await fill(['a', 'b']);
  await fail('a', 2);
  const key = `evenhand:{${POOL}}:facts`;
  const facts = (await setup.redis.hget(key, 'a'))!;
  const old = facts.replace(
    /(\d{13}),(\d{13})/,
    (_all, one: string, other: string) => `${one},${Number(other) - MINUTE_MS}`,
  );
  await setup.redis.hset(key, 'a', old);
  await fail('a');
  expect((await member('a')).state).toBe('eligible');
  await fail('a');
  expect((await member('a')).reason).toBe('cooling');
});

test('a share of successes below the one that is asked for begins a cooldown, from so many outcomes on', async () => {
  const health = { ...HEALTH, failures: null, successRatio: { below: 0.5, sample: 6 } };
  await fill(['a', 'b'], { health });
  for (const outcome of ['failure', 'failure', 'success', 'failure', 'success'] as const)
    await report('a', { outcome });
  expect((await member('a')).state).toBe('eligible');
  await fail('a');
  expect(await member('a')).toMatchObject({ reason: 'cooling', evidence: '2 successes of 6' });
});

test('without health rules nothing but a ban has an effect, and nothing is kept', async () => {
  await fill(['a', 'b'], {});
  await fail('a', 20);
  await report('a', { outcome: 'success' });
  expect((await member('a')).state).toBe('eligible');
  expect(await setup.redis.exists(`evenhand:{${POOL}}:facts`)).toBe(0);
  await report('a', { outcome: 'banned' });
  expect(await member('a')).toMatchObject({ reason: 'cooling', evidence: 'banned' });
});

test('of three members with one host, port and user and three passwords one is banned, and two remain', async () => {
  await setup.app.pools.put(POOL);
  const body = ['one', 'two', 'three'].map((password) => `http://user:${password}@192.0.2.7:8080`).join('\n');
  await setup.app.pools.importMembers(POOL, { format: 'text', body });
  const first = (await setup.app.selection.select(POOL)).selection!.member.id;
  await report(first, { outcome: 'banned' });
  const { selections } = await setup.app.selection.selectBatch(POOL, { count: 10 });
  const ids = new Set(selections.map((each) => each.member.id));
  expect(ids.size).toBe(2);
  expect(ids.has(first)).toBe(false);
});

test('a member on trial has one lease at a time until its first success, and rests again when it fails', async () => {
  const { selection, context } = setup.app;
  await fill(['a', 'b'], { strategy: 'least-concurrency', health: { ...HEALTH, trial: true } });
  await setup.app.pools.patchMember(POOL, 'b', { state: 'disabled' });
  await fail('a', 3);
  await endCooldown('a');
  const ask = () => selection.selectBatch(POOL, { count: 3 });
  const [tried, ...others] = (await ask()).selections;
  expect(others).toEqual([]);
  expect(await selection.select(POOL)).toMatchObject({ selection: null, reason: 'AT_CAPACITY' });
  await context.get(LeaseService).complete(POOL, tried!.lease!.id, { outcome: 'failure' });
  expect(await member('a')).toMatchObject({ reason: 'cooling', evidence: 'failed on trial' });
  await endCooldown('a');
  const [again] = (await ask()).selections;
  await context.get(LeaseService).complete(POOL, again!.lease!.id, { outcome: 'success' });
  expect((await ask()).selections).toHaveLength(3);
});

test.each(['least-assigned', 'least-recently-used', 'random'])(
  'under %s a member on trial is selected once, and then when that has gone well',
  async (strategy) => {
    const { selection } = setup.app;
    await fill(['a', 'b'], { strategy, health: { ...HEALTH, trial: true } });
    await fail('a', 3);
    await endCooldown('a');
    const idsOf = async () =>
      (await selection.selectBatch(POOL, { count: 12 })).selections.map((each) => each.member.id);
    expect((await idsOf()).filter((id) => id === 'a')).toHaveLength(1);
    expect(await member('a')).toMatchObject({ reason: 'cooling', evidence: 'on trial' });
    await report('a', { outcome: 'success' });
    expect((await idsOf()).filter((id) => id === 'a').length).toBeGreaterThan(1);
  },
);

describe('targets', () => {
  test('a ban at a target leaves the member for all others, and is gone by itself', async () => {
    await fill(['a', 'b'], {});
    await report('a', { outcome: 'banned', target: 'one.example' });
    expect((await member('a')).state).toBe('eligible');
    const ask = (target: string) => setup.app.selection.selectBatch(POOL, { count: 8, target });
    expect((await ask('one.example')).selections.map((each) => each.member.id)).toEqual(Array(8).fill('b'));
    expect(new Set((await ask('two.example')).selections.map((each) => each.member.id))).toEqual(new Set(['a']));
    const keys = await setup.redis.keys('evenhand:*bans:*');
    expect(keys).toHaveLength(1);
    for (const key of [...keys, `evenhand:{${POOL}}:targets`]) expect(await setup.redis.pttl(key)).toBeGreaterThan(0);
  });

  test('what is kept of targets goes with the pool', async () => {
    await fill(['a', 'b'], {});
    for (let n = 0; n < 3; n++) await report('a', { outcome: 'banned', target: `${n}.example` });
    await setup.app.selection.selectBatch(POOL, { count: 3, target: '1.example' });
    await setup.app.pools.delete(POOL);
    expect(await setup.redis.keys(`evenhand:{${POOL}}:*`)).toEqual([]);
  });

  test('what is kept of targets stays with a pool whose deletion is refused', async () => {
    const { selection, pools } = setup.app;
    await fill(['a', 'b'], { strategy: 'least-concurrency' });
    await report('a', { outcome: 'banned', target: 'one.example' });
    await selection.select(POOL, { target: 'one.example' });
    await expect(pools.delete(POOL)).rejects.toMatchObject({ code: 'POOL_BUSY' });
    expect((await selection.select(POOL, { target: 'one.example' })).selection?.member.id).toBe('b');
    await pools.delete(POOL, { force: true });
    expect(await setup.redis.keys(`evenhand:{${POOL}}:*`)).toEqual([]);
  });

  test('the lease of a selection for a target bans there, unless it says otherwise', async () => {
    const { selection, context } = setup.app;
    await fill(['a', 'b'], { strategy: 'least-concurrency' });
    const first = (await selection.select(POOL, { target: 'one.example' })).selection!;
    await context.get(LeaseService).complete(POOL, first.lease!.id, { outcome: 'banned' });
    const others = await selection.selectBatch(POOL, { count: 4, target: 'one.example' });
    expect(others.selections.map((each) => each.member.id)).not.toContain(first.member.id);
    const second = others.selections[0]!;
    await context.get(LeaseService).complete(POOL, second.lease!.id, { outcome: 'banned', target: 'two.example' });
    expect((await selection.select(POOL, { target: 'one.example' })).selection).not.toBeNull();
    expect((await member(first.member.id)).state).toBe('eligible');
  });

  test('who was banned takes no more than its share when the ban has ended', async () => {
    await fill(['a', 'b', 'c'], {});
    await report('a', { outcome: 'banned', target: 'one.example' });
    await setup.app.selection.selectBatch(POOL, { count: 600, target: 'one.example' });
    const [bans] = await setup.redis.keys('evenhand:*bans:*');
    await setup.redis.zadd(bans!, 1, 'a');
    const { selections } = await setup.app.selection.selectBatch(POOL, { count: 300, target: 'one.example' });
    // One more than a third: it is levelled with the latest pick, not with the next.
    expect(selections.filter((each) => each.member.id === 'a').length).toBeLessThanOrEqual(101);
    expect(selections.filter((each) => each.member.id === 'a').length).toBeGreaterThanOrEqual(99);
  });
});

test('a batch says of each what it came to, and one that is unknown stops no other', async () => {
  await fill(['a', 'b']);
  const outcomes = [
    ...['a', 'nobody', 'a', 'a'].map((id) => ({ id, outcome: 'failure' as const })),
    { id: 'b', outcome: 'banned' as const, target: 'one.example' },
  ];
  const found = await setup.app.context.get(OutcomeService).reportBatch(POOL, { outcomes });
  expect(found.outcomes.map(({ id, status, reason }) => [id, status, reason])).toEqual([
    ['a', 'counted', null],
    ['nobody', 'unknown-member', null],
    ['a', 'counted', null],
    ['a', 'counted', 'cooling'],
    ['b', 'counted', null],
  ]);
  expect(found.outcomes[4]!.returnsAt).not.toBeNull();
  await expect(setup.app.context.get(OutcomeService).reportBatch('none', { outcomes })).rejects.toMatchObject({
    code: 'POOL_NOT_FOUND',
  });
});

test('what was known of a member that is imported again is known still', async () => {
  await fill(['a', 'b']);
  await fail('a', 3);
  const { returnsAt } = await member('a');
  await setup.app.pools.removeMember(POOL, 'a');
  await importMembers(setup.app, POOL, ['a']);
  expect(await member('a')).toMatchObject({ reason: 'cooling', returnsAt });
});

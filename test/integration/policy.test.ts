import { afterEach, describe, expect, test } from '@jest/globals';
import { importMembers } from '../support/selection.app.js';
import { poolProblems } from '../support/pool.invariants.js';
import { useSelection } from '../support/use.selection.js';
import { waitUntil } from '../support/wait.until.js';

const setup = useSelection();

afterEach(async () => {
  if (await setup.redis.exists('evenhand:{shop}:settings')) expect(await poolProblems(setup.redis)).toEqual([]);
});

const GERMAN = { labels: { required: { country: 'DE' } } };
const DE = { country: 'DE' };
const FR = { country: 'FR' };
const member = (id: string) => setup.app.pools.getMember('shop', id);
const put = (changes: Parameters<typeof setup.app.pools.put>[1]) => setup.app.pools.put('shop', changes);
const give = (...members: Parameters<typeof importMembers>[2]) => importMembers(setup.app, 'shop', members);
const patch = (id: string, changes: Parameters<typeof setup.app.pools.patchMember>[2]) =>
  setup.app.pools.patchMember('shop', id, changes);
const ELIGIBLE = { state: 'eligible', reason: null };
const POLICY = { state: 'withdrawn', reason: 'policy' };

describe('an import under a policy', () => {
  test('withdraws the members that violate it', async () => {
    await put({ policy: { ...GERMAN, ports: [8080] } });
    const report = await give(
      { id: 'a', value: 'http://192.0.2.1:8080', labels: DE },
      { id: 'b', value: 'http://192.0.2.2:8080', labels: FR },
      { id: 'c', value: 'http://192.0.2.3:3128', labels: DE },
    );
    expect(report).toMatchObject({ added: 3, total: 3 });
    expect(await member('a')).toMatchObject(ELIGIBLE);
    expect(await member('b')).toMatchObject(POLICY);
    expect(await member('c')).toMatchObject(POLICY);
    for (let n = 0; n < 5; n++) {
      expect((await setup.app.selection.select('shop')).selection?.member.id).toBe('a');
    }
  });

  test('judges what it leaves out as it is in the pool', async () => {
    await put({ policy: { ...GERMAN, ports: [8080] } });
    await give({ id: 'a', value: 'http://192.0.2.1:8080', labels: DE });
    await give({ id: 'a', weight: 2 });
    expect(await member('a')).toMatchObject(ELIGIBLE);
    await give({ id: 'a', labels: FR });
    expect(await member('a')).toMatchObject(POLICY);
    await give({ id: 'a', labels: DE });
    await give({ id: 'a', value: 'http://192.0.2.1:3128' });
    expect(await member('a')).toMatchObject({ ...POLICY, labels: DE });
  });

  test('judges the lines of a text list, and a later list that adds labels', async () => {
    await put({ policy: { deny: ['private'], hostnames: 'forbid' } });
    const text = '192.0.2.1:8080\n10.0.0.1:8080\nsocks5://user:s3cret@192.0.2.2:1080\nproxy.example:8080\n';
    await setup.app.pools.importMembers('shop', { format: 'text', body: text });
    const { members } = await setup.app.pools.listMembers('shop');
    expect(members.map(({ id, reason }) => [id.replace(/#.*/, ''), reason])).toEqual([
      ['http://10.0.0.1:8080', 'policy'],
      ['http://192.0.2.1:8080', null],
      ['http://proxy.example:8080', 'policy'],
      ['socks5://user@192.0.2.2:1080', null],
    ]);
  });

  test('only looked at with dryRun, it changes nothing', async () => {
    await put({ policy: GERMAN });
    await give({ id: 'a', labels: DE });
    const report = await importMembers(setup.app, 'shop', [{ id: 'a', labels: FR }, 'b'], { dryRun: true });
    expect(report).toMatchObject({ added: 1, updated: 1, total: 2 });
    expect(await member('a')).toMatchObject({ ...ELIGIBLE, labels: DE });
  });

  test('judges a member that comes back anew', async () => {
    await put({ policy: GERMAN });
    await give({ id: 'a', labels: DE }, { id: 'b', labels: FR });
    for (const id of ['a', 'b']) await setup.app.pools.removeMember('shop', id);
    expect(await give({ id: 'a', labels: FR }, { id: 'b', labels: DE })).toMatchObject({ restored: 2 });
    expect(await member('a')).toMatchObject(POLICY);
    expect(await member('b')).toMatchObject(ELIGIBLE);
    await setup.app.pools.removeMember('shop', 'a');
    await put({ policy: null });
    await give({ id: 'a', labels: FR });
    expect(await member('a')).toMatchObject(ELIGIBLE);
  });
});

describe('a change of a member', () => {
  test('has its labels judged, both ways', async () => {
    await put({ policy: GERMAN });
    await give({ id: 'a', labels: DE });
    expect(await patch('a', { labels: FR })).toMatchObject(POLICY);
    expect(await patch('a', { weight: 3 })).toMatchObject(POLICY);
    expect(await patch('a', { labels: DE })).toMatchObject({ ...ELIGIBLE, weight: 3 });
  });

  test('cannot lift the policy', async () => {
    await put({ policy: GERMAN });
    await give({ id: 'a', labels: FR });
    expect(await patch('a', { state: 'eligible' })).toMatchObject(POLICY);
  });

  test('that disables it goes before the policy, which holds again when it is enabled', async () => {
    await put({ policy: GERMAN });
    await give({ id: 'a', labels: FR });
    expect(await patch('a', { state: 'disabled' })).toMatchObject({ reason: 'disabled' });
    expect(await patch('a', { state: 'eligible' })).toMatchObject(POLICY);
    await patch('a', { state: 'disabled' });
    await put({ policy: null });
    expect(await member('a')).toMatchObject({ reason: 'disabled' });
    expect(await patch('a', { state: 'eligible' })).toMatchObject(ELIGIBLE);
  });

  test('that cools it holds behind the policy, and ends by its time', async () => {
    await put({ policy: GERMAN });
    await give({ id: 'a', labels: FR });
    expect(await patch('a', { cooldownMs: 600_000 })).toMatchObject({ ...POLICY, returnsAt: null });
    const cooling = await patch('a', { labels: DE });
    expect(cooling).toMatchObject({ reason: 'cooling', returnsAt: expect.any(String) });
    expect(await patch('a', { labels: FR })).toMatchObject(POLICY);
    expect(await patch('a', { state: 'eligible', labels: DE })).toMatchObject(ELIGIBLE);
  });
});

describe('a change of the rules', () => {
  test.each(['least-assigned', 'least-concurrency', 'least-recently-used', 'random'])(
    'judges the members that are there, both ways, under %s',
    async (strategy) => {
      await put({ strategy });
      await give({ id: 'a', labels: DE }, { id: 'b', labels: FR }, 'c');
      await put({ policy: GERMAN });
      expect(await member('a')).toMatchObject(ELIGIBLE);
      expect(await member('b')).toMatchObject(POLICY);
      expect(await member('c')).toMatchObject(POLICY);
      await put({ policy: { labels: { forbidden: { country: 'DE' } } }, filters: [['country']] });
      expect(await member('a')).toMatchObject(POLICY);
      expect(await member('b')).toMatchObject(ELIGIBLE);
      expect(await member('c')).toMatchObject(ELIGIBLE);
    },
  );

  test('keeps what members have been selected, and levels those that come back', async () => {
    await give2000();
    await put({ policy: GERMAN });
    for (let n = 0; n < 10; n++) await setup.app.selection.selectBatch('shop', { count: 1_000 });
    await put({ policy: null });
    expect(await setup.app.pools.get('shop')).toMatchObject({ assigned: 10_000, members: { eligible: 2_000 } });
    const { selections } = await setup.app.selection.selectBatch('shop', { count: 1_000 });
    expect(new Set(selections.map(({ member }) => member.id)).size).toBe(1_000);
    expect(await member('m1')).toMatchObject({ assigned: expect.any(Number) });
  });

  async function give2000(): Promise<void> {
    await put({});
    await give(...Array.from({ length: 2_000 }, (_, n) => ({ id: `m${n}`, labels: n % 2 ? FR : DE })));
  }

  test('lets leases end as usual that are out', async () => {
    await put({ strategy: 'least-concurrency', capacity: 2 });
    await give({ id: 'a', labels: FR }, { id: 'b', labels: DE });
    const leases = await Promise.all(Array.from({ length: 4 }, () => setup.app.selection.select('shop')));
    await put({ policy: GERMAN });
    expect(await member('a')).toMatchObject({ ...POLICY, inFlight: 2 });
    expect((await setup.app.selection.select('shop')).selection).toBeNull();
    for (const { selection } of leases) await setup.app.selection.complete('shop', selection!.lease!.id);
    expect(await member('a')).toMatchObject({ ...POLICY, inFlight: 0 });
    await put({ policy: null });
    expect(await member('a')).toMatchObject({ ...ELIGIBLE, inFlight: 0, assigned: 2 });
  });

  test('that stops the probing of candidates makes them eligible', async () => {
    await put({ candidates: 'probe', probe: { url: 'http://192.0.2.9/' } });
    await give('a', 'b');
    await setup.app.pools.removeMember('shop', 'b');
    expect(await member('a')).toMatchObject({ reason: 'candidate' });
    await put({ candidates: 'trust' });
    await give('b');
    expect(await member('a')).toMatchObject(ELIGIBLE);
    expect(await member('b')).toMatchObject(ELIGIBLE);
  });
});

describe('a cooldown', () => {
  test('that began before its member was removed ends by itself after the member has come back', async () => {
    await put({});
    await give('a', 'b');
    await patch('a', { cooldownMs: 1_500 });
    await setup.app.pools.removeMember('shop', 'a');
    await setup.redis.del('evenhand:due');
    await give('a');
    expect(await member('a')).toMatchObject({ reason: 'cooling' });
    await waitUntil(async () => (await member('a')).state === 'eligible', { what: 'the end of the cooldown' });
  });

  test('that a policy hid ends by itself after the policy was dropped', async () => {
    await put({ policy: GERMAN });
    await give({ id: 'a', labels: FR });
    await patch('a', { cooldownMs: 1_500 });
    await setup.redis.del('evenhand:due');
    await put({ policy: null });
    await waitUntil(async () => (await member('a')).state === 'eligible', { what: 'the end of the cooldown' });
  });
});

describe('a member shows', () => {
  test('what speaks against it, and all that it is withdrawn for', async () => {
    await put({ policy: { ports: [8080] } });
    await give({ id: 'a', value: 'http://user:s3cret@192.0.2.1:3128' });
    const evidence = 'has a port that is not allowed';
    expect(await member('a')).toMatchObject({ reason: 'policy', reasons: ['policy'], evidence, returnsAt: null });
    await patch('a', { cooldownMs: 600_000 });
    await patch('a', { state: 'disabled' });
    expect(await member('a')).toMatchObject({
      reason: 'disabled',
      reasons: ['disabled', 'policy', 'cooling'],
      evidence: null,
    });
    await put({ policy: null });
    await patch('a', { state: 'eligible' });
    expect(await member('a')).toMatchObject({ ...ELIGIBLE, reasons: [], evidence: null, returnsAt: null });
    expect(await patch('a', { cooldownMs: 600_000 })).toMatchObject({
      reasons: ['cooling'],
      evidence: 'cooldown set by hand',
      returnsAt: expect.any(String),
    });
    expect(JSON.stringify(await setup.app.pools.listMembers('shop'))).not.toContain('s3cret');
  });

  test('when it is probed, while it waits for that', async () => {
    await put({ candidates: 'probe', probe: { url: 'http://192.0.2.9/' } });
    await give('a');
    const soon = Date.now() + 60_000;
    await setup.redis.zadd('evenhand:{shop}:probes', soon, 'a');
    expect(await member('a')).toMatchObject({
      reason: 'candidate',
      reasons: ['candidate'],
      returnsAt: new Date(soon).toISOString(),
    });
  });
});

test('a pool with an impossible name is refused, and never looked at', async () => {
  await expect(setup.app.pools.patchMember('No such!', 'a', { cooldownMs: 1_000 })).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
  });
  expect(await setup.redis.exists('evenhand:due')).toBe(0);
});

describe('changes of one member at the same time', () => {
  test('are all made', async () => {
    await put({ policy: GERMAN });
    await give({ id: 'a', labels: FR });
    await Promise.all(Array.from({ length: 20 }, (_, n) => patch('a', { labels: { ...DE, n } })));
    expect(await member('a')).toMatchObject(ELIGIBLE);
  });
});

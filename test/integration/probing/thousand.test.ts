import { expect, test } from '@jest/globals';
import { closedPort, startHangingProxy, startHttpProxy, startParrotProxy } from '../../support/proxies.js';
import { allProbed, evidenceOf, giveProbedPool } from '../../support/probed.pool.js';
import { useRunning } from '../../support/running.servers.js';
import { type SelectionApp, importMembers, startSelection } from '../../support/selection.app.js';
import { TargetServer } from '../../support/target.server.js';
import { useSelection } from '../../support/use.selection.js';
import { waitUntil } from '../../support/wait.until.js';

const setup = useSelection();
const running = useRunning();
const CONCURRENCY = 100;

test('of 1,000 candidates at once each gets the right verdict, with bounded concurrency and visible progress', async () => {
  const { app, redis } = setup;
  const target = await running(TargetServer.start());
  const working = await running(startHttpProxy());
  const locked = await running(startHttpProxy({ user: 'bob', password: 'p' }));
  const hanging = await running(startHangingProxy());
  const rubbish = await running(startParrotProxy('rubbish'));
  const ways: [port: number, evidence: RegExp][] = [
    [await closedPort(), /^probe: refused: /],
    [hanging.port, /^probe: timeout: /],
    [rubbish.port, /^probe: protocol: /],
    [locked.port, /^probe: authentication: /],
    [await closedPort(), /^probe: refused: /],
  ];
  // A fifth of them is broken, in turn in each of the ways. Each has a user of its own.
  const wayOf = (n: number) => (n % 5 === 0 ? ways[(n / 5) % ways.length]! : undefined);
  const members = Array.from({ length: 1_000 }, (_, n) => ({
    id: `m${n}`,
    value: `http://user-${n}:p@127.0.0.1:${wayOf(n)?.[0] ?? working.port}`,
  }));

  const progress: { waiting: number; running: number }[] = [];
  await giveProbedPool(app, { url: target.url, timeoutMs: 8_000, concurrency: CONCURRENCY }, members);
  await waitUntil(
    async () => {
      const { probes, members: counts } = await app.pools.get('shop');
      progress.push(probes);
      return counts.eligible === 800 && probes.running === 0;
    },
    { deadlineMs: 50_000, what: 'all to be probed' },
  );
  await allProbed(app, redis);

  const found = await Promise.all(
    members.map(async ({ id }, n) => [id, wayOf(n)?.[1], await evidenceOf(redis, id)] as const),
  );
  for (const [id, way, evidence] of found) expect([id, evidence]).toEqual([id, way ? expect.stringMatching(way) : '']);
  expect((await app.pools.get('shop')).members).toEqual({ total: 1_000, eligible: 800, withdrawn: 200 });
  expect(await redis.hgetall('evenhand:{shop}:reasons')).toEqual({ unhealthy: '200' });
  expect([working.connections, target.requests.length]).toEqual([800, 800]);
  expect([locked.connections, hanging.connections, rubbish.connections]).toEqual([40, 40, 40]);
  expect(working.mostOpen).toBeLessThanOrEqual(CONCURRENCY);
  expect(Math.max(...progress.map((probes) => probes.running))).toBeLessThanOrEqual(CONCURRENCY);
  expect(progress.some(({ waiting, running: now }) => waiting > 0 && now > 0)).toBe(true);
  expect((await app.pools.get('shop')).probes).toEqual({ waiting: 200, running: 0 });
});

test('several processes share the work: each member is probed once, and the concurrency is that of all together', async () => {
  const others: SelectionApp[] = await Promise.all([1, 2].map(() => startSelection(setup.server.url)));
  try {
    const target = await running(TargetServer.start());
    const proxy = await running(startHttpProxy());
    const users = Array.from({ length: 300 }, (_, n) => `u${n}`);
    const members = users.map((id) => ({ id, value: `http://${id}:p@127.0.0.1:${proxy.port}` }));
    await giveProbedPool(setup.app, { url: target.url, concurrency: 8 }, members);
    await allProbed(setup.app, setup.redis);
    expect((await setup.app.pools.get('shop')).members.eligible).toBe(300);
    expect([proxy.connections, target.requests.length]).toEqual([300, 300]);
    expect(proxy.mostOpen).toBeLessThanOrEqual(8);
  } finally {
    await Promise.all(others.map((other) => other.close()));
  }
});

test('a process does 256 probes at once over all pools, and a large pool does not keep a small one waiting', async () => {
  const { app } = setup;
  const target = await running(TargetServer.start());
  const hanging = await running(startHangingProxy());
  const working = await running(startHttpProxy());
  const members = Array.from({ length: 600 }, (_, n) => ({
    id: `m${n}`,
    value: `http://u${n}:p@127.0.0.1:${hanging.port}`,
  }));
  await giveProbedPool(app, { url: target.url, timeoutMs: 4_000, concurrency: 1_000 }, members);
  await waitUntil(() => hanging.openNow === 256, { what: 'the process to be busy with the large pool' });
  await app.pools.put('small', { candidates: 'probe', probe: { url: target.url } });
  await importMembers(app, 'small', [{ id: 'a', value: `http://127.0.0.1:${working.port}` }]);
  await waitUntil(async () => (await app.pools.get('small')).members.eligible === 1);
  expect(await setup.redis.hget('evenhand:{shop}:reasons', 'candidate')).not.toBeNull();
  await allProbed(app, setup.redis);
  expect([hanging.mostOpen, hanging.connections]).toEqual([256, 600]);
});

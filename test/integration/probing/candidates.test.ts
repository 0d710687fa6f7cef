import { expect, test } from '@jest/globals';
import { closedPort, startHangingProxy, startHttpProxy, startParrotProxy } from '../../support/proxies.js';
import { allProbed, giveProbedPool, probedMember } from '../../support/probed.pool.js';
import { useRunning } from '../../support/running.servers.js';
import { SocksServer } from '../../support/socks.server.js';
import { TargetServer } from '../../support/target.server.js';
import { useSelection } from '../../support/use.selection.js';
import { waitUntil } from '../../support/wait.until.js';

const setup = useSelection();
const running = useRunning();

const state = (id: string) => probedMember(setup.app, setup.redis, id);

test('each kind of proxy becomes eligible, or unhealthy for the right reason', async () => {
  const { app, redis } = setup;
  const user = { user: 'bob', password: 's3cret' };
  const target = await running(TargetServer.start());
  const [http, locked, hanging, rubbish] = await Promise.all([
    running(startHttpProxy()),
    running(startHttpProxy(user)),
    running(startHangingProxy()),
    running(startParrotProxy('rubbish')),
  ]);
  const [socks, lockedSocks] = await Promise.all([running(SocksServer.start()), running(SocksServer.start(user))]);
  const at = (scheme: string, port: number, credentials = '') => `${scheme}://${credentials}127.0.0.1:${port}`;
  const members = {
    http: at('http', http.port),
    'http with password': at('http', locked.port, 'bob:s3cret@'),
    socks4: at('socks4', socks.port),
    socks4a: at('socks4a', socks.port),
    socks5: at('socks5', socks.port),
    'socks5h with password': at('socks5h', lockedSocks.port, 'bob:s3cret@'),
    refusing: at('http', await closedPort()),
    hanging: at('http', hanging.port),
    rubbish: at('http', rubbish.port),
    'wrong password': at('http', locked.port, 'bob:wr0ng@'),
    'wrong socks password': at('socks5', lockedSocks.port, 'bob:wr0ng@'),
    'no proxy': 'api-key-s3cret',
  };
  await giveProbedPool(
    app,
    { url: target.url, timeoutMs: 3_000 },
    Object.entries(members).map(([id, value]) => ({ id, value })),
  );
  await allProbed(app, redis);

  const states = Object.fromEntries(
    await Promise.all(Object.keys(members).map(async (id) => [id, await state(id)] as const)),
  );
  const eligible = { reason: null, evidence: '' };
  const unhealthy = (evidence: RegExp) => ({ reason: 'unhealthy', evidence: expect.stringMatching(evidence) });
  expect(states).toEqual({
    http: eligible,
    'http with password': eligible,
    socks4: eligible,
    socks4a: eligible,
    socks5: eligible,
    'socks5h with password': eligible,
    refusing: unhealthy(/^probe: refused: /),
    hanging: unhealthy(/^probe: timeout: .*3000 ms/),
    rubbish: unhealthy(/^probe: protocol: /),
    'wrong password': unhealthy(/^probe: authentication: .*407/),
    'wrong socks password': unhealthy(/^probe: authentication: /),
    'no proxy': unhealthy(/^probe: unsupported: /),
  });
  expect(JSON.stringify(states)).not.toMatch(/s3cret|wr0ng/);
  expect(target.requests).toHaveLength(6);
  const { members: counts, probes } = await app.pools.get('shop');
  expect([counts, probes]).toEqual([
    { total: 12, eligible: 6, withdrawn: 6 },
    { waiting: 6, running: 0 },
  ]);
});

test('an unhealthy member is probed again after the interval, and is eligible when it passes', async () => {
  const { app, redis } = setup;
  const target = await running(TargetServer.start());
  const proxy = await running(startHttpProxy());
  target.respond = (_request, response) => response.writeHead(503).end();
  await giveProbedPool(app, { url: target.url, intervalMs: 10_000 }, [
    { id: 'a', value: `http://127.0.0.1:${proxy.port}` },
  ]);
  await allProbed(app, redis);
  expect(await state('a')).toEqual({ reason: 'unhealthy', evidence: 'probe: status: The answer has status 503.' });
  expect((await app.selection.select('shop')).selection).toBeNull();

  target.respond = (_request, response) => response.end('ok');
  await waitUntil(async () => (await state('a')).reason === null, { deadlineMs: 20_000 });
  expect(await state('a')).toEqual({ reason: null, evidence: '' });
  expect((await app.selection.select('shop')).selection?.member.id).toBe('a');
  expect(target.requests).toHaveLength(2);
});

test('probes can be asked for at once', async () => {
  const { app, redis } = setup;
  const target = await running(TargetServer.start());
  const proxy = await running(startHttpProxy());
  target.respond = (_request, response) => response.writeHead(503).end();
  const values = ['a', 'b', 'c'].map((user) => ({ id: user, value: `http://${user}:p@127.0.0.1:${proxy.port}` }));
  await giveProbedPool(app, { url: target.url }, values);
  await allProbed(app, redis);

  target.respond = (_request, response) => response.end('ok');
  expect(await app.pools.scheduleProbes('shop')).toEqual({ scheduled: 3 });
  await waitUntil(async () => (await app.pools.get('shop')).members.eligible === 3);
  expect(await app.pools.scheduleProbes('shop')).toEqual({ scheduled: 0 });
  await expect(app.pools.scheduleProbes('nowhere')).rejects.toMatchObject({ code: 'POOL_NOT_FOUND' });
});

test('changed settings are tried soon, and a probe by the old ones that is under way does not count', async () => {
  const { app, redis } = setup;
  const target = await running(TargetServer.start());
  const proxy = await running(startHttpProxy());
  const held: (() => void)[] = [];
  target.respond = (_request, response) => void held.push(() => response.end('old'));
  await giveProbedPool(app, { url: target.url }, [{ id: 'a', value: `http://127.0.0.1:${proxy.port}` }]);
  await waitUntil(() => held.length === 1, { what: 'the first probe to be under way' });
  await app.pools.put('shop', { probe: { url: target.url, bodyPattern: '^new' } });
  await waitUntil(() => held.length === 2, { what: 'the second probe to be under way' });
  held[0]!();
  await waitUntil(async () => (await app.pools.get('shop')).probes.running === 1);
  expect((await state('a')).reason).toBe('candidate');
  held[1]!();
  await allProbed(app, redis);
  expect(await state('a')).toEqual({ reason: 'unhealthy', evidence: expect.stringContaining('probe: body: ') });
});

test('a result that comes between a change of the settings and what follows from it does not count', async () => {
  const { app, redis } = setup;
  const target = await running(TargetServer.start());
  const proxy = await running(startHttpProxy());
  const held: (() => void)[] = [];
  target.respond = (_request, response) => void held.push(() => response.end('old'));
  await giveProbedPool(app, { url: target.url }, [{ id: 'a', value: `http://127.0.0.1:${proxy.port}` }]);
  await waitUntil(() => held.length === 1, { what: 'the first probe to be under way' });
  const changed = (await app.pools.get('shop')).probe;
  await redis.hset('evenhand:{shop}:settings', 'probe', JSON.stringify({ ...changed, bodyPattern: '^new' }));
  held[0]!();
  await waitUntil(() => held.length === 2, { what: 'a probe by the new settings' });
  expect((await state('a')).reason).toBe('candidate');
  held[1]!();
  await allProbed(app, redis);
  expect((await state('a')).reason).toBe('unhealthy');
});

test('probes that are asked for leave alone what is being probed', async () => {
  const { app } = setup;
  const target = await running(TargetServer.start());
  const proxy = await running(startHttpProxy());
  const held: (() => void)[] = [];
  target.respond = (_request, response) => void held.push(() => response.end('ok'));
  const values = ['a', 'b'].map((id) => ({ id, value: `http://${id}:p@127.0.0.1:${proxy.port}` }));
  await giveProbedPool(app, { url: target.url, concurrency: 1 }, values);
  await waitUntil(() => held.length === 1, { what: 'the first probe to be under way' });
  expect(await app.pools.scheduleProbes('shop')).toEqual({ scheduled: 1 });
  held[0]!();
  await waitUntil(() => held.length === 2, { what: 'the second probe to be under way' });
  expect((await app.pools.get('shop')).members.eligible).toBe(1);
  held[1]!();
  await waitUntil(async () => (await app.pools.get('shop')).members.eligible === 2);
  expect(target.requests).toHaveLength(2);
});

test('an exit address is compared with the own one; where that cannot be found, nobody is judged', async () => {
  const { app, redis } = setup;
  const target = await running(TargetServer.start());
  const [other, same] = await Promise.all([
    running(startHttpProxy({ localAddress: '127.0.0.2' })),
    running(startHttpProxy()),
  ]);
  const members = [
    { id: 'other', value: `http://127.0.0.1:${other.port}` },
    { id: 'same', value: `http://127.0.0.1:${same.port}` },
  ];
  await giveProbedPool(app, { url: target.url, exitAddress: 'differs' }, members);
  await allProbed(app, redis);
  expect(await state('other')).toEqual({ reason: null, evidence: '' });
  expect(await state('same')).toEqual({
    reason: 'unhealthy',
    evidence: "probe: exit-address: The request came from the service's own address.",
  });
  // Asked once without a proxy, and once by each.
  expect(target.requests).toHaveLength(3);

  await app.pools.put('shop', { probe: { url: `http://127.0.0.1:${await closedPort()}/`, exitAddress: 'differs' } });
  const told = await waitUntil(async () => {
    const found = await state('same');
    return found.evidence.startsWith('probe: no verdict') && found;
  });
  expect(told).toEqual({ reason: 'unhealthy', evidence: expect.stringContaining('own address is not known (refused') });
});

test('without settings for it nothing is probed', async () => {
  const { app } = setup;
  const proxy = await running(startHttpProxy());
  await app.pools.put('shop');
  await app.pools.importMembers('shop', { format: 'text', body: `127.0.0.1:${proxy.port}` });
  const target = await running(TargetServer.start());
  // With settings and trusted candidates there is none to probe either; a pool that is probed shows that looks were taken.
  await app.pools.put('shop', { probe: { url: target.url } });
  await app.pools.put('other', { candidates: 'probe', probe: { url: target.url } });
  const another = await running(startHttpProxy());
  await app.pools.importMembers('other', { format: 'text', body: `127.0.0.1:${another.port}` });
  await waitUntil(async () => (await app.pools.get('other')).members.eligible === 1);
  expect((await app.pools.get('shop')).members).toEqual({ total: 1, eligible: 1, withdrawn: 0 });
  expect([proxy.connections, another.connections]).toEqual([0, 1]);
});

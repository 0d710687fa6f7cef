import { expect, test } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import type { LoopbackServer } from '../../support/loopback.server.js';
import { startHttpProxy } from '../../support/proxies.js';
import { allProbed, giveProbedPool, probedMember } from '../../support/probed.pool.js';
import { useRunning } from '../../support/running.servers.js';
import { importMembers } from '../../support/selection.app.js';
import { TargetServer } from '../../support/target.server.js';
import { useSelection } from '../../support/use.selection.js';
import { waitUntil } from '../../support/wait.until.js';

const setup = useSelection();
const running = useRunning();

interface HeldProbes {
  target: TargetServer;
  proxy: LoopbackServer;
  /** The answers that probes wait for, in the order in which they came. */
  answers: ServerResponse[];
  value: string;
}

/** A pool with one member `a`, whose first probe is under way and waits for its answer. */
async function probing(): Promise<HeldProbes> {
  const target = await running(TargetServer.start());
  const proxy = await running(startHttpProxy());
  const answers: ServerResponse[] = [];
  target.respond = (_request, response) => void answers.push(response);
  const value = `http://127.0.0.1:${proxy.port}`;
  await giveProbedPool(setup.app, { url: target.url }, [{ id: 'a', value }]);
  await waitUntil(() => answers.length === 1, { what: 'the probe to be under way' });
  return { target, proxy, answers, value };
}

const runningNow = async () => (await setup.app.pools.get('shop')).probes.running;
const state = () => probedMember(setup.app, setup.redis, 'a');

test('a member that is deleted while it is probed stays deleted', async () => {
  const { answers } = await probing();
  await setup.app.pools.removeMember('shop', 'a');
  answers[0]!.end('ok');
  await waitUntil(async () => (await runningNow()) === 0);
  await expect(setup.app.pools.getMember('shop', 'a')).rejects.toMatchObject({ code: 'MEMBER_NOT_FOUND' });
  expect((await setup.app.pools.get('shop')).members).toEqual({ total: 0, eligible: 0, withdrawn: 0 });
  for (const part of ['facts', 'probes', 'parked', 'probing']) {
    expect([part, await setup.redis.exists(`evenhand:{shop}:${part}`)]).toEqual([part, 0]);
  }
});

test.each([true, false])(
  'one that comes back while its old probe still runs is probed anew, the old result does not count (forgotten: %s)',
  async (forget) => {
    const { answers, value } = await probing();
    await setup.app.pools.removeMember('shop', 'a', { forget });
    await importMembers(setup.app, 'shop', [{ id: 'a', value }]);
    await waitUntil(() => answers.length === 2, { what: 'the second probe' });
    answers[0]!.end('ok');
    await waitUntil(async () => (await runningNow()) === 1);
    expect((await state()).reason).toBe('candidate');
    answers[1]!.writeHead(503).end();
    await allProbed(setup.app, setup.redis);
    expect(await state()).toEqual({ reason: 'unhealthy', evidence: expect.stringContaining('503') });
  },
);

test('one that comes back after the old result was dropped is probed', async () => {
  const { answers, value } = await probing();
  await setup.app.pools.removeMember('shop', 'a');
  answers[0]!.end('ok');
  await waitUntil(async () => (await runningNow()) === 0);
  await importMembers(setup.app, 'shop', [{ id: 'a', value }]);
  await waitUntil(() => answers.length === 2, { what: 'the second probe' });
  answers[1]!.end('ok');
  await waitUntil(async () => (await state()).reason === null);
});

test('one that is given another value is probed by it at once, the result of the old one does not count', async () => {
  const { answers } = await probing();
  const second = await running(startHttpProxy());
  await importMembers(setup.app, 'shop', [{ id: 'a', value: `http://127.0.0.1:${second.port}` }]);
  await waitUntil(() => answers.length === 2, { what: 'the second probe' });
  answers[0]!.end('ok');
  await waitUntil(async () => (await runningNow()) === 1);
  expect((await state()).reason).toBe('candidate');
  expect(second.connections).toBe(1);
  answers[1]!.end('ok');
  await waitUntil(async () => (await state()).reason === null);
});

test('an import that changes nothing, or labels only, leaves the probe under way alone', async () => {
  const { answers, value } = await probing();
  await importMembers(setup.app, 'shop', [{ id: 'a', value }]);
  await importMembers(setup.app, 'shop', [{ id: 'a', value, labels: { country: 'DE' } }]);
  await setup.app.pools.patchMember('shop', 'a', { weight: 2 });
  answers[0]!.end('ok');
  await waitUntil(async () => (await state()).reason === null);
  expect(answers).toHaveLength(1);
});

test('one that is disabled while it is probed stays disabled, and is a candidate when it is enabled', async () => {
  const { answers } = await probing();
  await setup.app.pools.patchMember('shop', 'a', { state: 'disabled' });
  answers[0]!.end('ok');
  await waitUntil(async () => (await runningNow()) === 0);
  expect((await state()).reason).toBe('disabled');
  expect((await setup.app.selection.select('shop')).selection).toBeNull();
  expect((await setup.app.pools.patchMember('shop', 'a', { state: 'eligible' })).reason).toBe('candidate');
  await waitUntil(() => answers.length === 2, { what: 'the second probe' });
  answers[1]!.end('ok');
  await waitUntil(async () => (await state()).reason === null);
});

test('one that is cooled down while it is probed returns when both are over', async () => {
  const { answers } = await probing();
  await setup.app.pools.patchMember('shop', 'a', { cooldownMs: 60_000 });
  answers[0]!.end('ok');
  await waitUntil(async () => (await state()).reason === 'cooling');
  expect((await setup.app.pools.patchMember('shop', 'a', { state: 'eligible' })).reason).toBeNull();
});

test('a pool that is deleted while it is probed stays deleted', async () => {
  const { answers, proxy } = await probing();
  await setup.app.pools.delete('shop');
  answers[0]!.end('ok');
  await proxy.deserted();
  await waitUntil(async () => (await setup.redis.keys('evenhand:{shop}:*')).length === 0);
  await setup.app.pools.put('shop', { candidates: 'probe', probe: { url: 'http://127.0.0.1:1/' } });
  expect((await setup.app.pools.get('shop')).probes).toEqual({ waiting: 0, running: 0 });
});

test('candidates that are trusted after all need no probe', async () => {
  const { answers } = await probing();
  await setup.app.pools.put('shop', { candidates: 'trust', probe: null });
  expect((await state()).reason).toBeNull();
  answers[0]!.writeHead(503).end();
  await waitUntil(async () => (await runningNow()) === 0);
  expect((await state()).reason).toBeNull();
});

import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { startHangingProxy, startHttpProxy } from '../../support/proxies.js';
import { allProbed, giveProbedPool, probedMember } from '../../support/probed.pool.js';
import { useRunning } from '../../support/running.servers.js';
import { type SelectionApp, startSelection } from '../../support/selection.app.js';
import { TargetServer } from '../../support/target.server.js';
import { useSelection } from '../../support/use.selection.js';
import { waitUntil } from '../../support/wait.until.js';

const setup = useSelection();
const running = useRunning();
const unhandled: unknown[] = [];
const note = (reason: unknown) => void unhandled.push(reason);
let other: SelectionApp | undefined;

beforeEach(() => void process.on('unhandledRejection', note));
afterEach(async () => {
  await other?.close();
  other = undefined;
  process.off('unhandledRejection', note);
  expect(unhandled.splice(0)).toEqual([]);
});

test('an outage of Redis in the middle delays probes, and no more', async () => {
  const { app, redis, server } = setup;
  const target = await running(TargetServer.start());
  const proxy = await running(startHttpProxy());
  const held: (() => void)[] = [];
  target.respond = (_request, response) => void held.push(() => response.end('ok'));
  const members = Array.from({ length: 30 }, (_, n) => ({
    id: `m${n}`,
    value: `http://u${n}:p@127.0.0.1:${proxy.port}`,
  }));
  await giveProbedPool(app, { url: target.url, concurrency: 10, timeoutMs: 5_000 }, members);
  await waitUntil(() => held.length === 10);
  server.pause();
  try {
    target.respond = (_request, response) => response.end('ok');
    for (const answer of held) answer();
    await proxy.deserted();
    await expect(app.pools.get('shop')).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' });
  } finally {
    server.resume();
  }
  await waitUntil(async () => (await app.pools.get('shop')).members.eligible === 30, { deadlineMs: 45_000 });
  await allProbed(app, redis);
});

test('a shutdown calls probes off, which says nothing about their members, and leaves no connection', async () => {
  const { server, redis } = setup;
  const hanging = await running(startHangingProxy());
  // An application that looks for nothing would leave the pool to the other.
  await setup.app.close();
  other = await startSelection(server.url);
  const target = await running(TargetServer.start());
  await giveProbedPool(other, { url: target.url, timeoutMs: 60_000 }, [
    { id: 'a', value: `http://127.0.0.1:${hanging.port}` },
  ]);
  await waitUntil(() => hanging.openNow === 1);
  await other.close();
  await hanging.deserted();
  expect(await redis.zcard('evenhand:{shop}:probing')).toBe(0);

  setup.app = await startSelection(server.url);
  expect(await probedMember(setup.app, redis, 'a')).toEqual({ reason: 'candidate', evidence: '' });
  await waitUntil(() => hanging.connections === 2, { what: 'the next process to probe it', deadlineMs: 20_000 });
});

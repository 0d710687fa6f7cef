import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startHttpProxy } from '../../support/proxies.js';
import { type RedisServer, startRedis } from '../../support/redis.server.js';
import { useRunning } from '../../support/running.servers.js';
import { RunningService } from '../../support/service.js';
import { TargetServer } from '../../support/target.server.js';
import { waitUntil } from '../../support/wait.until.js';

let redis: RedisServer;
const running = useRunning();

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(async () => {
  await redis.stop();
});

interface Shop {
  members: { eligible: number };
  probes: { waiting: number; running: number };
}

test('what a process that is killed had claimed is probed by another, when the claims have run out', async () => {
  const first = await RunningService.start({ REDIS_URL: redis.url });
  const target = await running(TargetServer.start());
  const proxy = await running(startHttpProxy());
  const held: (() => void)[] = [];
  target.respond = (_request, response) => void held.push(() => response.end('ok'));
  await first.call('PUT', '/v1/pools/shop', {
    candidates: 'probe',
    probe: { url: target.url, timeoutMs: 20_000, concurrency: 20 },
  });
  const values = Array.from({ length: 200 }, (_, n) => `http://u${n}:p@127.0.0.1:${proxy.port}`);
  await first.call('POST', '/v1/pools/shop/members', { members: values.map((value, n) => ({ id: `m${n}`, value })) });
  await waitUntil(() => held.length === 20, { what: 'as many probes as may be under way at once' });
  const second = await RunningService.start({ REDIS_URL: redis.url });
  try {
    const shop = async () => (await second.call<Shop>('GET', '/v1/pools/shop')).body;
    expect((await shop()).probes).toEqual({ waiting: 180, running: 20 });
    await first.stop('SIGKILL');
    target.respond = (_request, response) => response.end('ok');
    await waitUntil(async () => (await shop()).members.eligible === 200, {
      deadlineMs: 90_000,
      what: 'the other process to probe all',
    });
    expect((await shop()).probes).toEqual({ waiting: 0, running: 0 });
    expect(target.requests).toHaveLength(220);
  } finally {
    await second.stop();
  }
}, 120_000);

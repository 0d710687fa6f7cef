import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startHttpProxy } from '../support/proxies.js';
import { type RedisServer, startRedis } from '../support/redis.server.js';
import { useRunning } from '../support/running.servers.js';
import { RunningService } from '../support/service.js';
import { TargetServer } from '../support/target.server.js';
import { waitUntil } from '../support/wait.until.js';

let redis: RedisServer;
let service: RunningService;
const running = useRunning();

beforeAll(async () => {
  redis = await startRedis();
  service = await RunningService.start({ REDIS_URL: redis.url, LOG_LEVEL: 'debug' });
});
afterAll(async () => {
  await service.stop();
  await redis.stop();
});

interface Shop {
  members: { eligible: number };
  probes: { waiting: number; running: number };
}

test('candidates are probed, progress is shown, probes can be asked for, and the log holds no secret', async () => {
  const target = await running(TargetServer.start());
  const proxy = await running(startHttpProxy({ user: 'bob', password: 's3cret' }));
  target.respond = (_request, response) => response.writeHead(503).end();
  const created = await service.call<Shop>('PUT', '/v1/pools/shop', {
    candidates: 'probe',
    probe: { url: target.url },
  });
  expect([created.status, created.body.probes]).toEqual([201, { waiting: 0, running: 0 }]);
  await service.text('/v1/pools/shop/members', `bob:s3cret@127.0.0.1:${proxy.port}\nbob:wr0ng@127.0.0.1:${proxy.port}`);
  const shop = async () => (await service.call<Shop>('GET', '/v1/pools/shop')).body;
  const members = async () => JSON.stringify((await service.call('GET', '/v1/pools/shop/members')).body);
  await waitUntil(async () => !(await members()).includes('candidate'));
  await waitUntil(async () => (await shop()).probes.running === 0);
  expect(await shop()).toMatchObject({ members: { eligible: 0 }, probes: { waiting: 2, running: 0 } });

  target.respond = (_request, response) => response.end('ok');
  const asked = await service.call('POST', '/v1/pools/shop/probes');
  expect([asked.status, asked.body]).toEqual([202, { scheduled: 2 }]);
  await waitUntil(async () => (await shop()).members.eligible === 1);
  await waitUntil(() => /probed \d+ members/.test(service.log));
  expect(service.log).not.toMatch(/s3cret|wr0ng/);
});

test('what is no request for probes is refused', async () => {
  const path = '/v1/pools/nowhere/probes';
  expect((await service.call('POST', path)).body).toMatchObject({ status: 404, code: 'POOL_NOT_FOUND' });
  expect((await service.call('POST', path, { all: true })).body).toMatchObject({ code: 'VALIDATION_FAILED' });
  expect((await service.call('POST', `${path}?all=true`)).body).toMatchObject({ code: 'VALIDATION_FAILED' });
  const refused = await service.call('PUT', '/v1/pools/shop', { probe: { prober: 'no', url: 'http://192.0.2.1/' } });
  expect(refused.body).toMatchObject({ status: 400, errors: [{ path: 'probe.prober' }] });
});

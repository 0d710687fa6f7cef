import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type DispatchApp, giveQueue, jobs, startDispatch, untilQueue } from '../../support/dispatch.app.js';
import { type RedisClusterServers, startCluster } from '../../support/redis.cluster.js';
import { waitUntil } from '../../support/wait.until.js';

let cluster: RedisClusterServers;
let app: DispatchApp;

beforeAll(async () => {
  cluster = await startCluster(3);
  app = await startDispatch({ clusterNodes: cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port })) });
});
afterAll(async () => {
  await app.close();
  await cluster.stop();
});

test('a queue works on a cluster, and goes on in another process', async () => {
  const { fleet } = app;
  await giveQueue(app, { nodes: ['node-1', 'node-2'], limit: 3 });
  const { jobs: ids, id } = await app.dispatch.submit('crawls', { requestId: 'order-7', jobs: jobs(12) });
  await untilQueue(app, 'three to run', ({ running }) => running === 3);
  const clusterNodes = cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }));
  const other = await startDispatch({ clusterNodes }, fleet);
  await app.close();
  app = other;
  const allDone = async () => {
    fleet.finish();
    return (await app.dispatch.get('crawls')).finished === 12;
  };
  await waitUntil(allDone, { what: 'all to finish', deadlineMs: 30_000 });
  expect(fleet.order).toEqual(ids);
  expect(fleet.most).toBe(3);
  expect(await app.dispatch.getRequest('crawls', id)).toMatchObject({ jobs: { finished: 12 } });
  const isFree = async () => (await app.pools.get('nodes')).inFlight === 0;
  await waitUntil(isFree, { what: 'all nodes to be given back' });
  await app.dispatch.delete('crawls');
});

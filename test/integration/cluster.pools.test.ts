import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { PoolService } from '../../src/pool/pool.service.js';
import { SelectionModule } from '../../src/selection/selection.module.js';
import { SelectionService } from '../../src/selection/selection.service.js';
import { type RedisClusterServers, startCluster } from '../support/redis.cluster.js';
import { waitUntil } from '../support/wait.until.js';

const POOLS = ['a', 'b', 'c', 'd', 'e', 'f'];
const MEMBERS = JSON.stringify({ members: [{ id: 'x' }, { id: 'y' }] });

let cluster: RedisClusterServers;
let app: INestApplicationContext;
let pools: PoolService;
let selection: SelectionService;

beforeAll(async () => {
  cluster = await startCluster(3);
  const clusterNodes = cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }));
  @Module({ imports: [SelectionModule.forRoot({ redis: { connection: { clusterNodes } } })] })
  class Host {}
  app = await NestFactory.createApplicationContext(Host, { logger: false, abortOnError: false });
  pools = app.get(PoolService);
  selection = app.get(SelectionService);
});
afterAll(async () => {
  await app.close();
  await cluster.stop();
});

async function givePools(strategy: string): Promise<void> {
  for (const name of POOLS) {
    await pools.put(name, { strategy, capacity: 1 });
    await pools.importMembers(name, { format: 'json', body: MEMBERS });
  }
}

test('pools of every slot count selections', async () => {
  await givePools('least-assigned');
  for (const name of POOLS) {
    await selection.selectBatch(name, { count: 5 });
    expect((await selection.select(name)).selection).toMatchObject({ member: { id: 'y' }, assigned: 3 });
  }
  expect((await pools.list()).pools.map(({ name }) => name)).toEqual(POOLS);
});

test('leases are made, waited for, settled, and expire by themselves', async () => {
  await givePools('least-concurrency');
  await Promise.all(
    POOLS.map(async (name) => {
      const held = await selection.selectBatch(name, { count: 2, ttlMs: 1_000 });
      expect(held.selections).toHaveLength(2);
      const waiting = selection.select(name, { waitMs: 10_000, ttlMs: 1_000 });
      await waitUntil(async () => (await pools.get(name)).waiters === 1, { what: 'the waiter' });
      await selection.complete(name, held.selections[1]?.lease?.id ?? '');
      expect((await waiting).selection?.member.id).toBe('y');
      await waitUntil(async () => (await pools.get(name)).inFlight === 0, { deadlineMs: 5_000, what: 'the expiry' });
    }),
  );
  for (const name of POOLS) await pools.delete(name);
  expect((await pools.list()).pools).toEqual([]);
});

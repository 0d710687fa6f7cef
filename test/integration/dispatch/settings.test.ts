import { describe, expect, test } from '@jest/globals';
import { giveQueue, jobs, startDispatch, untilQueue } from '../../support/dispatch.app.js';
import { importMembers } from '../../support/selection.app.js';
import { useDispatch } from '../../support/use.dispatch.js';

const setup = useDispatch();

describe('a change of settings', () => {
  test('loses none that is made at the same time, not even to the same group', async () => {
    const { app } = setup;
    await giveQueue(app);
    for (let n = 1; n <= 10; n++) {
      await Promise.all([
        app.dispatch.patch('crawls', { retry: { attempts: n } }),
        app.dispatch.patch('crawls', { retry: { backoffMs: 100 * n } }),
        app.dispatch.patch('crawls', { loss: { afterMs: 1_000 * n } }),
      ]);
      const { retry, loss } = await app.dispatch.get('crawls');
      expect({ retry, loss }).toMatchObject({
        retry: { attempts: n, backoffMs: 100 * n },
        loss: { afterMs: 1_000 * n, retry: true },
      });
    }
  });

  test.each<[string, () => Promise<unknown>]>([
    ['has been deleted', () => setup.app.pools.delete('nodes')],
    ['has another strategy', () => setup.app.pools.put('nodes', { strategy: 'random' })],
  ])('is taken though the pool %s', async (_what, change) => {
    const { app } = setup;
    await giveQueue(app);
    await change();
    expect(await app.dispatch.patch('crawls', { limit: 7 })).toMatchObject({ limit: 7, pool: 'nodes' });
    await expect(app.dispatch.patch('crawls', { pool: 'nodes' })).rejects.toBeDefined();
  });
});

test('leases are by default as long as the takeover of a process asks for', async () => {
  const { app, server } = setup;
  await app.pools.put('nodes', { strategy: 'least-concurrency' });
  const slow = await startDispatch(server.url, setup.fleet, { takeoverMs: 30_000 });
  try {
    const settings = { pool: 'nodes', limit: 1, launcher: { type: 'fleet' } };
    expect((await slow.dispatch.put('crawls', settings)).queue).toMatchObject({ leaseTtlMs: 90_000 });
    const short = slow.dispatch.patch('crawls', { leaseTtlMs: 60_000 });
    await expect(short).rejects.toMatchObject({ problems: [{ path: 'leaseTtlMs' }] });
  } finally {
    await slow.close();
  }
});

describe('the pool of a queue', () => {
  test('whose strategy has no leases any more is not selected from', async () => {
    const { app } = setup;
    await giveQueue(app);
    await app.pools.put('nodes', { strategy: 'random' });
    await app.dispatch.submit('crawls', { jobs: jobs(1) });
    await untilQueue(app, 'it to be tried in vain', ({ blocked }) => blocked === 'NO_LEASE_LIFECYCLE');
    await setup.lookedAt(2);
    expect((await app.pools.get('nodes')).assigned).toBe(0);
  });

  test('may have shorter leases than the queue asks for', async () => {
    const { app } = setup;
    await giveQueue(app, { leaseTtlMs: 60_000 });
    await app.pools.put('nodes', { lease: { ttlMs: 1_000, maxTtlMs: 2_000 } });
    await app.dispatch.submit('crawls', { jobs: jobs(1) });
    await setup.runAll(1);
  });

  test('gives its labels to the launcher as they are', async () => {
    const { app, fleet } = setup;
    await giveQueue(app);
    await importMembers(app, 'nodes', [{ id: 'node-1', labels: { project: 202401011234567 as unknown as string } }]);
    const found: unknown[] = [];
    const start = fleet.start.bind(fleet);
    fleet.start = (node, job) => {
      found.push(node.labels['project']);
      return start(node, job);
    };
    await app.dispatch.submit('crawls', { jobs: jobs(1) });
    await setup.runAll(1);
    expect(found).toEqual([202401011234567]);
  });
});

describe('why nothing is started', () => {
  test('is not told of a queue in which nothing waits, or that is held', async () => {
    const { app } = setup;
    await giveQueue(app, { nodes: [] });
    const { id } = await app.dispatch.submit('crawls', { jobs: jobs(1) });
    await untilQueue(app, 'it to be tried in vain', ({ blocked }) => blocked === 'EMPTY_POOL');
    expect(await app.dispatch.pause('crawls')).toMatchObject({ blocked: null });
    expect(await app.dispatch.resume('crawls')).toMatchObject({ blocked: 'EMPTY_POOL' });
    await app.dispatch.cancelRequest('crawls', id);
    expect(await app.dispatch.get('crawls')).toMatchObject({ blocked: null });
  });
});

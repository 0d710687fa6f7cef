import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import type { Redis } from 'ioredis';
import { type DispatchApp, startDispatch } from './dispatch.app.js';
import type { FleetLauncher } from './fleet.launcher.js';
import { type RedisServer, startRedis } from './redis.server.js';
import { waitUntil } from './wait.until.js';

/** What the tests of a file share. */
export interface DispatchSetup {
  server: RedisServer;
  redis: Redis;
  app: DispatchApp;
  fleet: FleetLauncher;
  /** How many nodes the pool lends at the moment. */
  inFlight(): Promise<number>;
  /** Ends jobs as soon as they run, until so many of the queue have finished. */
  runAll(count: number, deadlineMs?: number): Promise<void>;
  /** Waits until a process has looked at the queue so many times more. */
  lookedAt(times: number): Promise<void>;
  /** Waits until no node is leased, and the queue has no job in hand. */
  idle(): Promise<void>;
}

/** A Redis for the tests of a file, and for each test an application on it that finds it empty. */
export function useDispatch(): DispatchSetup {
  const setup = {} as DispatchSetup;
  setup.inFlight = async () => (await setup.app.pools.get('nodes')).inFlight;
  setup.runAll = async (count, deadlineMs = 30_000) => {
    const allDone = async () => {
      setup.fleet.finish();
      return (await setup.app.dispatch.get('crawls')).finished === count;
    };
    await waitUntil(allDone, { what: `${count} jobs to have finished`, deadlineMs });
  };
  setup.lookedAt = async (times) => {
    const due = () => setup.redis.zscore('evenhand:queues-due', 'crawls');
    for (let n = 0; n < times; n++) {
      const before = await due();
      await waitUntil(async () => (await due()) !== before, { what: 'the queue to be looked at' });
    }
  };
  setup.idle = async () => {
    const isIdle = async () => {
      const { starting, running } = await setup.app.dispatch.get('crawls');
      return starting + running + (await setup.inFlight()) === 0;
    };
    await waitUntil(isIdle, { what: 'all nodes to be given back' });
  };
  beforeAll(async () => {
    setup.server = await startRedis();
    setup.redis = setup.server.client();
  });
  afterAll(() => setup.server.stop());
  beforeEach(async () => {
    await setup.redis.flushall();
    setup.app = await startDispatch(setup.server.url);
    setup.fleet = setup.app.fleet;
  });
  afterEach(() => setup.app.close());
  return setup;
}

import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import type { Redis } from 'ioredis';
import { type RedisServer, startRedis } from './redis.server.js';
import { type SelectionApp, startSelection } from './selection.app.js';

/** What the tests of a file share; it is there while they run. */
export interface SelectionSetup {
  server: RedisServer;
  redis: Redis;
  app: SelectionApp;
}

/** A Redis and an application on it for the tests of a file; each test finds the Redis empty. */
export function useSelection(): SelectionSetup {
  const setup = {} as SelectionSetup;
  beforeAll(async () => {
    setup.server = await startRedis();
    setup.redis = setup.server.client();
    setup.app = await startSelection(setup.server.url);
  });
  afterAll(async () => {
    await setup.app.close();
    await setup.server.stop();
  });
  beforeEach(async () => {
    await setup.redis.flushall();
  });
  return setup;
}

import { randomUUID } from 'node:crypto';
import { ImportRunningError } from '../errors/domain.errors.js';
import { redisCall } from '../redis/redis.call.js';
import type { RedisClient } from '../redis/redis.client.js';
import { RedisScript } from '../redis/redis.script.js';
import { loadScript } from '../redis/script.loader.js';
import type { StoredPool } from './pool.directory.js';

/** How long the lock of an import that died stands in the way of the next one; every step of an import renews it. */
export const IMPORT_LOCK_TTL_MS = 10_000;

const UNLOCK = new RedisScript(loadScript('pool/unlock.lua'));

/**
 * Runs `work` as the only import into the pool. Each step passes the token, so that an import which lost its lock stops.
 *
 * @throws ImportRunningError when another import is under way
 */
export async function withImportLock<T>(
  redis: RedisClient,
  { name, keys }: StoredPool,
  work: (token: string) => Promise<T>,
): Promise<T> {
  const token = randomUUID();
  const taken = await redisCall(redis.set(keys.lock, token, 'PX', IMPORT_LOCK_TTL_MS, 'NX'));
  if (taken !== 'OK') throw new ImportRunningError(name);
  try {
    return await work(token);
  } finally {
    // A lock that cannot be given back now runs out by itself.
    await UNLOCK.run(redis, [keys.lock], [token]).catch(() => undefined);
  }
}

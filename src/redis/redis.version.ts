import type { Redis } from 'ioredis';
import { RedisRefusedError } from '../errors/domain.errors.js';
import type { RedisClient } from './redis.client.js';
import { translateRedisError } from './redis.errors.js';

const OLDEST: readonly [major: number, minor: number] = [6, 2];

/**
 * Refuses a Redis before 6.2; every Valkey is newer. Asks by HELLO, which an ACL user may send who may not send INFO.
 *
 * @throws RedisRefusedError naming the version that was found
 */
export async function requireSupportedVersion(client: RedisClient, target: string): Promise<void> {
  const nodes: Redis[] = 'nodes' in client ? client.nodes('master') : [client];
  for (const node of nodes) {
    const version = await readVersion(node);
    if (isSupported(version)) continue;
    throw new RedisRefusedError(
      `Redis (${target}) is version ${version ?? 'before 6.0'}, which is too old: 6.2 or newer is needed, or Valkey.`,
    );
  }
}

/** Whether a version such as `7.0.15` is new enough. */
export function isSupported(version: string | undefined): boolean {
  const [major = 0, minor = 0] = (version ?? '').split('.').map(Number);
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
}

async function readVersion(node: Redis): Promise<string | undefined> {
  try {
    return versionIn(await node.call('HELLO'));
  } catch (error) {
    if (error instanceof Error && /unknown command/i.test(error.message)) return undefined;
    throw translateRedisError(error);
  }
}

/** The reply lists names and values in turn. */
function versionIn(reply: unknown): string | undefined {
  if (!Array.isArray(reply)) return undefined;
  const at = reply.indexOf('version');
  return at < 0 ? undefined : String(reply[at + 1]);
}

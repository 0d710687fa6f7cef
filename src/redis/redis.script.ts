import { createHash } from 'node:crypto';
import type { RedisClient } from './redis.client.js';
import { translateRedisError } from './redis.errors.js';

/** A Lua script with the digest by which Redis knows it. */
export class RedisScript {
  private readonly sha: string;

  /** @param source the whole text that is sent to Redis */
  constructor(private readonly source: string) {
    this.sha = createHash('sha1').update(source).digest('hex');
  }

  /**
   * Runs the script in one round trip, or in two where Redis does not know it yet: a NOSCRIPT answer means that nothing
   * ran, so sending the whole text after it never runs a script twice.
   *
   * @throws RedisUnavailableError when Redis is away or the reply was lost; the script may then have run
   * @throws RedisRefusedError when Redis says no
   */
  async run(client: RedisClient, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    try {
      return await client.evalsha(this.sha, keys.length, ...keys, ...args);
    } catch (error) {
      if (!isNoScript(error)) throw translateRedisError(error);
    }
    try {
      return await client.eval(this.source, keys.length, ...keys, ...args);
    } catch (error) {
      throw translateRedisError(error);
    }
  }
}

function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}

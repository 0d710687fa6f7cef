import { translateRedisError } from './redis.errors.js';

/**
 * Waits for a single command.
 *
 * @throws RedisUnavailableError | RedisRefusedError in place of the client's own errors
 */
export async function redisCall<T>(command: Promise<T>): Promise<T> {
  try {
    return await command;
  } catch (error) {
    throw translateRedisError(error);
  }
}

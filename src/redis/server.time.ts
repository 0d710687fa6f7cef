import { redisCall } from './redis.call.js';
import type { RedisClient } from './redis.client.js';

/** The clock of the Redis server, in milliseconds: all times that decide anything are its. */
export async function serverTimeMs(redis: RedisClient): Promise<number> {
  const [seconds, microseconds] = await redisCall(redis.time());
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
}

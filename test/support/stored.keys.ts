import type { Redis } from 'ioredis';

/** Written by a service that nobody asked for anything: the key for passwords, and what its BullMQ worker notes of itself. */
const OWN = /password-tag-key$|:dispatch:\{runs\}:runs:(meta|stalled-check)$/;

/** The names of all keys that somebody's request has made, sorted. */
export async function storedKeys(redis: Redis): Promise<string[]> {
  return (await redis.keys('*')).filter((key) => !OWN.test(key)).sort();
}

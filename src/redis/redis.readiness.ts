import type { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { RedisRefusedError, RedisUnavailableError } from '../errors/domain.errors.js';
import type { RedisClient } from './redis.client.js';
import { causeOfRedisError, describeRedisError, translateRedisError } from './redis.errors.js';

const POLL_MS = 10;
/** What the client tells about attempts that failed: of a server, of a cluster's node. */
const FAILURES = ['error', 'node error'];

/**
 * Connects a new client and waits until commands can be sent; of a cluster, to every primary.
 *
 * @throws RedisUnavailableError when that takes too long
 * @throws RedisRefusedError as soon as the server says no
 */
export async function waitForRedis(client: RedisClient, target: string, withinMs: number): Promise<void> {
  const deadline = Date.now() + withinMs;
  let lastFailure: Error | undefined;
  const note = (error: Error): void => void (lastFailure = causeOfRedisError(error));
  const events: EventEmitter = client;
  for (const event of FAILURES) events.on(event, note);
  try {
    client.connect().catch(() => undefined);
    while (!isReady(client)) {
      if (lastFailure && isRefusal(lastFailure)) throw refused(target, lastFailure);
      if (Date.now() > deadline) throw unreachable(target, withinMs, lastFailure);
      await sleep(POLL_MS);
    }
  } finally {
    for (const event of FAILURES) events.off(event, note);
  }
}

function isReady(client: RedisClient): boolean {
  if (client.status !== 'ready') return false;
  return !('nodes' in client) || client.nodes('master').every((node) => node.status === 'ready');
}

/** Any reply but one that will pass, such as "loading". */
function isRefusal(error: Error): boolean {
  return error.name === 'ReplyError' && !(translateRedisError(error) instanceof RedisUnavailableError);
}

function refused(target: string, error: Error): RedisRefusedError {
  return new RedisRefusedError(`Redis (${target}) refuses the connection: ${describeRedisError(error)}`);
}

function unreachable(target: string, withinMs: number, error: Error | undefined): RedisUnavailableError {
  const reason = error ? describeRedisError(error).replace(/\.$/, '') : 'no answer';
  return new RedisUnavailableError(`Redis (${target}) could not be reached within ${withinMs / 1000} s: ${reason}.`);
}

import { commandStats } from '../../support/redis.process.mjs';
import { microsecondsPerCall } from '../../support/rounds.mjs';

const CALLS = 1_000;
const IN_FLIGHT = 4;

/**
 * Microseconds of one call as its caller sees it, and of that what Redis spends in scripts. So few calls are in flight that
 * plain selections do not travel together either.
 */
export async function costOf(client, call) {
  const before = await commandStats(client, 'evalsha');
  const us = await microsecondsPerCall(call, CALLS, IN_FLIGHT);
  const after = await commandStats(client, 'evalsha');
  return { us, redisUs: (after.usec - before.usec) / CALLS };
}

/** A selection, whose lease, where there is one, is completed at once. */
export function cycle({ selection }, pool, request) {
  return async () => {
    const { selection: found } = await selection.select(pool, request);
    if (!found) throw new Error(`Nobody was selected in "${pool}".`);
    if (found.lease) await selection.complete(pool, found.lease.id);
  };
}

/** So many selections in batches, the leases among them completed. */
export async function selectMany({ selection }, pool, count, size, request) {
  for (let left = count; left > 0; left -= size) {
    const { selections } = await selection.selectBatch(pool, { ...request, count: Math.min(size, left) });
    await Promise.all(selections.map(({ lease }) => lease && selection.complete(pool, lease.id)));
  }
}

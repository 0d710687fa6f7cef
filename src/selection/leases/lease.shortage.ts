import { redisCall } from '../../redis/redis.call.js';
import type { RedisClient } from '../../redis/redis.client.js';
import { serverTimeMs } from '../../redis/server.time.js';
import type { KeyNames } from '../key.names.js';
import type { SelectionResult } from '../selection.types.js';
import type { PoolConfig } from '../strategies/selection.strategy.js';
import type { Acquisition } from './lease.scripts.js';

/**
 * Why there is nothing to lend, and the time to the earliest return of a member or end of a ban for the target. The end of a
 * lease counts as well where the member that it frees may be one that would do.
 *
 * @param reason why, where members are eligible
 */
export async function whyNothing(
  redis: RedisClient,
  names: KeyNames,
  { name, keys }: PoolConfig,
  { wish }: Acquisition,
  reason: 'AT_CAPACITY' | 'NO_MATCH' = 'AT_CAPACITY',
): Promise<SelectionResult> {
  const nowMs = await redisCall(serverTimeMs(redis));
  const first = (key: string) => redis.zrangebyscore(key, `(${nowMs}`, '+inf', 'WITHSCORES', 'LIMIT', 0, 1);
  const [bans] = names.target(name, wish?.target ?? '');
  const [eligible, withdrawn, ...firsts] = await redisCall(
    Promise.all([
      redis.exists(keys.eligible),
      redis.exists(keys.withdrawn),
      ...[keys.returns, bans, keys.leases].map(first),
    ]),
  );
  const [returnMs = Infinity, banEndMs = Infinity, expiryMs = Infinity] = firsts.map(([, timeMs]) =>
    timeMs === undefined ? Infinity : Number(timeMs),
  );
  const result = (why: SelectionResult['reason'], soonestMs: number): SelectionResult => ({
    ...{ selection: null, reason: why },
    retryAfterMs: Number.isFinite(soonestMs) ? soonestMs - nowMs : null,
  });
  if (eligible === 0) return result(withdrawn > 0 ? 'NONE_ELIGIBLE' : 'EMPTY_POOL', returnMs);
  return result(reason, Math.min(returnMs, banEndMs, reason === 'AT_CAPACITY' ? expiryMs : Infinity));
}

/** What a wait that came to nothing is answered: where no eligible member has the labels, none that came free would have done. */
export async function whyInVain(
  redis: RedisClient,
  names: KeyNames,
  pool: PoolConfig,
  ask: Acquisition,
): Promise<SelectionResult> {
  const view = ask.narrowing?.view ?? '';
  const isMatched = view === '' || (await hasMembers(redis, pool.keys.views, view));
  return whyNothing(redis, names, pool, ask, isMatched ? 'AT_CAPACITY' : 'NO_MATCH');
}

/** Members at their capacity stand in their views, too. */
async function hasMembers(redis: RedisClient, views: string, view: string): Promise<boolean> {
  const found = await redisCall(redis.zrangebylex(views, `[${view}`, `(${view}\xff`, 'LIMIT', 0, 1));
  return found.length > 0;
}

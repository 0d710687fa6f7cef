import { Inject, Injectable } from '@nestjs/common';
import { parseInput } from '../../errors/parse.input.js';
import type { WithdrawalReason } from '../../pool/member.js';
import { PoolDirectory, type StoredPool } from '../../pool/pool.directory.js';
import { PoolScripts } from '../../pool/pool.scripts.js';
import { redisCall } from '../../redis/redis.call.js';
import type { RedisClient } from '../../redis/redis.client.js';
import { REDIS_CLIENT } from '../../redis/redis.tokens.js';
import { KeyNames } from '../../selection/key.names.js';
import { isoTime } from '../../selection/leases/iso.time.js';
import { LEASED_INDEX } from '../../selection/strategies/leased.index.js';
import {
  type Explanation,
  type ExplainRequest,
  type MemberCounts,
  explainRequestSchema,
  noneWithdrawn,
} from './explain.types.js';
import { MemberSurvey } from './member.survey.js';

type Matched = Omit<Explanation, keyof MemberCounts | 'atLimit'>;

/** Says how many members of a pool can be selected, and why not the others. */
@Injectable()
export class ExplainService {
  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly names: KeyNames,
    private readonly directory: PoolDirectory,
    private readonly scripts: PoolScripts,
    private readonly survey: MemberSurvey,
  ) {}

  /**
   * Counts the members of a pool by what keeps them from being selected. Without `labels`, `target` and `exclude` it reads
   * counters; with them it looks at the members, at most 200,000, in steps, so that the counts of a pool in use are not of one moment.
   *
   * @throws PoolNotFoundError | ValidationFailedError
   */
  async explain(name: string, request: ExplainRequest = {}): Promise<Explanation> {
    const { labels = {}, target, exclude = [] } = parseInput(explainRequestSchema, request);
    const pool = await this.scripts.settled(name);
    const fullKey = this.fullKeyOf(pool);
    const counts = await this.count(pool);
    const atLimit = await this.isAtLimit(pool);
    if (Object.keys(labels).length === 0 && target === undefined && exclude.length === 0) {
      return { ...counts, atLimit, ...(await this.matchAll(pool, counts, fullKey)) };
    }
    const bansKey = target === undefined ? null : this.names.target(name, target)[0];
    const { tally, complete } = await this.survey.take(pool, { labels, exclude, bansKey, fullKey });
    const nextReturnAt = timeOrNull(tally.nextReturnMs);
    const nextBanEndsAt = timeOrNull(tally.nextBanEndMs);
    return { ...counts, atLimit, match: tally.counts, nextReturnAt, nextBanEndsAt, complete };
  }

  private async count({ keys }: StoredPool): Promise<MemberCounts> {
    const [eligible, reasons] = await redisCall(
      Promise.all([this.redis.zcard(keys.eligible), this.redis.hgetall(keys.reasons)]),
    );
    const withdrawn = noneWithdrawn();
    for (const [reason, count] of Object.entries(reasons)) withdrawn[reason as WithdrawalReason] = Number(count);
    const members = Object.values(withdrawn).reduce((sum, each) => sum + each, eligible);
    return { members, eligible, withdrawn };
  }

  private async matchAll({ keys }: StoredPool, counts: MemberCounts, fullKey: string | null): Promise<Matched> {
    const [full, first] = await redisCall(
      Promise.all([
        fullKey === null ? 0 : this.redis.zcard(fullKey),
        this.redis.zrange(keys.returns, '0', '0', 'WITHSCORES'),
      ]),
    );
    // Read a moment later than the number of the eligible ones.
    const atCapacity = Math.min(full, counts.eligible);
    const returnMs = Number(first.flat().at(1) ?? Infinity);
    return {
      match: { ...counts, excluded: 0, banned: 0, atCapacity, selectable: counts.eligible - atCapacity },
      nextReturnAt: timeOrNull(returnMs),
      nextBanEndsAt: null,
      complete: true,
    };
  }

  /** The members that have as many leases as they may have; null where the strategy counts none. */
  private fullKeyOf({ settings, indexKeys }: StoredPool): string | null {
    const isLeased = this.directory.indexOf(settings.strategy).kind === LEASED_INDEX.kind;
    return isLeased ? (indexKeys[LEASED_INDEX.parts.indexOf('full')] ?? null) : null;
  }

  private async isAtLimit(pool: StoredPool): Promise<boolean> {
    const { limit } = pool.settings;
    if (limit === null || this.fullKeyOf(pool) === null) return false;
    return (await redisCall(this.redis.zcard(pool.keys.leases))) >= limit;
  }
}

function timeOrNull(ms: number): string | null {
  return Number.isFinite(ms) ? isoTime(ms) : null;
}

import { Inject, Injectable } from '@nestjs/common';
import type { Labels, LabelValue, MemberState } from '../../pool/member.js';
import { MemberCatalogue } from '../../pool/member.catalogue.js';
import type { StoredPool } from '../../pool/pool.directory.js';
import { redisCall } from '../../redis/redis.call.js';
import type { RedisClient } from '../../redis/redis.client.js';
import { REDIS_CLIENT } from '../../redis/redis.tokens.js';
import { serverTimeMs } from '../../redis/server.time.js';
import { readLabels } from '../../selection/member.record.js';
import { MemberTally } from './member.tally.js';

/** Members looked at in one step, which holds Redis for about a millisecond. */
const PAGE = 1_000;
/** The most members that are looked at. */
const MAX_MEMBERS = 200_000;
const LABELS_LINE = 2;

/** Which members count, and what bears on them. */
export interface SurveyRequest {
  labels: Labels;
  exclude: readonly string[];
  /** Zset of the members that are banned at the target -> until when, in ms; null where no target is named. */
  bansKey: string | null;
  /** Zset of the members that have as many leases as they may have; null where there are none. */
  fullKey: string | null;
}

export interface Survey {
  tally: MemberTally;
  /** Whether all members were looked at. */
  complete: boolean;
}

/** Looks at the members of a pool one after the other, in steps, while it is in use. */
@Injectable()
export class MemberSurvey {
  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly catalogue: MemberCatalogue,
  ) {}

  /** Eligible members first. */
  async take(pool: StoredPool, request: SurveyRequest): Promise<Survey> {
    const tally = new MemberTally(new Set(request.exclude), await serverTimeMs(this.redis));
    let looked = 0;
    for (const state of ['eligible', 'withdrawn'] as const) {
      for await (const ids of this.pages(pool, state)) {
        if (looked >= MAX_MEMBERS) return { tally, complete: false };
        looked += ids.length;
        const matching = await this.withLabels(pool, ids, Object.entries(request.labels));
        if (matching.length === 0) continue;
        if (state === 'eligible') await this.addEligible(tally, matching, request);
        else await this.addWithdrawn(tally, matching, pool);
      }
    }
    return { tally, complete: true };
  }

  private async *pages(pool: StoredPool, state: MemberState): AsyncGenerator<string[]> {
    let after: string | undefined;
    do {
      const ids = await this.catalogue.ids(pool, PAGE, state, after);
      if (ids.length > 0) yield ids;
      after = ids.length === PAGE ? ids.at(-1) : undefined;
    } while (after !== undefined);
  }

  /** Those that have all of these labels, compared by type and value. */
  private async withLabels({ keys }: StoredPool, ids: string[], wanted: [string, LabelValue][]): Promise<string[]> {
    if (wanted.length === 0) return ids;
    const texts = await redisCall(this.redis.hmget(keys.members, ...ids));
    return ids.filter((_id, n) => {
      const labels = readLabels(texts[n]?.split('\n', LABELS_LINE + 1)[LABELS_LINE] ?? '');
      return wanted.every(([name, value]) => Object.hasOwn(labels, name) && labels[name] === value);
    });
  }

  private async addEligible(tally: MemberTally, ids: string[], { bansKey, fullKey }: SurveyRequest): Promise<void> {
    const [bans, full] = await Promise.all([this.scores(bansKey, ids), this.scores(fullKey, ids)]);
    ids.forEach((id, n) => tally.addEligible(id, Number(bans[n] ?? 0), full[n] != null));
  }

  private async addWithdrawn(tally: MemberTally, ids: string[], { keys }: StoredPool): Promise<void> {
    const standings = await redisCall(this.redis.hmget(keys.parked, ...ids));
    // One that has become eligible since was counted there, or is left out.
    for (const standing of standings) if (standing !== null) tally.addWithdrawn(standing);
  }

  private async scores(key: string | null, ids: string[]): Promise<(string | null)[]> {
    return key === null ? [] : redisCall(this.redis.zmscore(key, ...ids));
  }
}

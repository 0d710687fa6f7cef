import { Inject, Injectable } from '@nestjs/common';
import { MemberCatalogue } from '../../pool/member.catalogue.js';
import type { StoredPool } from '../../pool/pool.directory.js';
import { PoolScripts, type ScriptArgs } from '../../pool/pool.scripts.js';
import { NOTHING_DUE, type UpkeepStep } from '../../pool/upkeep.step.js';
import { redisCall } from '../../redis/redis.call.js';
import type { RedisClient } from '../../redis/redis.client.js';
import { REDIS_CLIENT } from '../../redis/redis.tokens.js';
import { basisOf, readRecord } from '../../selection/member.record.js';

/** Members judged in one step, which holds Redis for about three milliseconds. */
const STEP = 250;
/** When to look again where another process judges, or the rules have changed once more. */
const AGAIN_MS = 100;

/** Judges the members of a pool anew when its rules have changed, in the order of their ids; the pool is in use meanwhile. */
@Injectable()
export class MemberJudging {
  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly scripts: PoolScripts,
    private readonly catalogue: MemberCatalogue,
  ) {}

  /** The steps that are left of judging a pool, from the member on that its settings name. */
  stepOf(pool: StoredPool): UpkeepStep {
    let after = pool.judging;
    return async () => {
      if (after === null) return NOTHING_DUE;
      const ids = await this.catalogue.ids(pool, STEP, undefined, after === '' ? undefined : after);
      const last = ids.length < STEP ? '' : (ids.at(-1) as string);
      const [word] = await this.scripts.judgeAndRun('judge', pool.name, async (known) => [
        known.rules.fingerprint,
        after ?? '',
        last,
        ...(await this.judge(known, ids)),
      ]);
      after = word === '' && last !== '' ? last : null;
      if (word !== '') return { more: false, nextMs: Date.now() + AGAIN_MS };
      // What the last step made due is for the next look.
      return { more: after !== null, nextMs: Date.now() };
    };
  }

  private async judge({ keys, rules }: StoredPool, ids: readonly string[]): Promise<ScriptArgs> {
    if (ids.length === 0) return [];
    const texts = await redisCall(this.redis.hmget(keys.members, ...ids));
    return ids.flatMap((id, n) => {
      const text = texts[n] ?? null;
      const { value, labels } = readRecord(id, text ?? '');
      const { views, violation } = rules.judge({ id, value, labels });
      return [id, basisOf(text), views, violation];
    });
  }
}

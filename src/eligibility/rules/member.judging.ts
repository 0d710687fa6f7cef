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
/** A time that has come, whatever the server's clock says. */
const AT_ONCE = { more: false, nextMs: 0 };

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
    let isOthers = false;
    return async () => {
      // Others judge, or the rules have changed once more: whoever reads the pool again knows where to go on.
      if (isOthers) return AT_ONCE;
      if (after === null) return NOTHING_DUE;
      const last = await this.judgeStep(pool.name, after);
      isOthers = last === undefined;
      after = last === '' ? null : (last ?? after);
      // After the last step too there may be something due: the end of the cooldown of one whom the policy lets pass now.
      return { ...AT_ONCE, more: !isOthers };
    };
  }

  /** @returns the last id of the step, '' when all are judged, undefined when the step was done by somebody else */
  private async judgeStep(pool: string, after: string): Promise<string | undefined> {
    let last = '';
    const [word] = await this.scripts.judgeAndRun('judge', pool, async (known) => {
      // Read when the rules are known: who comes later is judged by these on coming.
      const ids = await this.catalogue.ids(known, STEP, undefined, after === '' ? undefined : after);
      last = ids.length < STEP ? '' : (ids.at(-1) as string);
      return [known.rules.fingerprint, after, last, ...(await this.judge(known, ids))];
    });
    return word === '' ? last : undefined;
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

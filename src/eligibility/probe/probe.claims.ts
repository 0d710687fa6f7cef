import { Inject, Injectable } from '@nestjs/common';
import type { StoredPool } from '../../pool/pool.directory.js';
import { PoolScripts } from '../../pool/pool.scripts.js';
import type { RedisClient } from '../../redis/redis.client.js';
import { RedisScript } from '../../redis/redis.script.js';
import { REDIS_CLIENT } from '../../redis/redis.tokens.js';
import { loadScript } from '../../redis/script.loader.js';
import type { PoolKeys } from '../../selection/key.names.js';
import { readRecord } from '../../selection/member.record.js';
import type { MemberToProbe } from './member.prober.js';
import type { ProbeVerdict } from './probe.attempt.js';
import type { ProbeSettings } from './probe.settings.js';

/** For how long a claim lasts beyond the time that a probe may take: for what comes before the probe and after it, see `PROBE_GRACE_MS`. */
const CLAIM_MARGIN_MS = 10_000;
/** When a member is probed again that there is no verdict on, unless the pool's interval is shorter. */
const RETRY_MS = 10_000;
/** Members made due in one step, which holds Redis for about a millisecond. */
const SCHEDULE_STEP = 1_000;

const CLAIM = new RedisScript(loadScript('pool/probe-claim.lua'));
const SCHEDULE = new RedisScript(loadScript('pool/probe-schedule.lua'));

/** Members that are this process's to probe, for a while. */
export interface ProbeClaim {
  claim: number;
  members: MemberToProbe[];
  /** Whether more members are due now. */
  left: boolean;
  /** When there is something to claim again, in ms by the server's clock; null for never. */
  nextMs: number | null;
}

/** What came out of the probe of a member under a claim. */
export interface ProbeOutcome extends ProbeVerdict {
  id: string;
  claim: number;
}

/** What became of outcomes. */
export interface ProbeCounts {
  eligible: number;
  unhealthy: number;
  none: number;
}

/** The probes of pools as Redis knows them: which are due, who does them, and what they found. */
@Injectable()
export class ProbeClaims {
  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly scripts: PoolScripts,
  ) {}

  /** Takes members whose probe is due; `STALE` when the pool's settings are others than `pool` says. */
  async claim({ keys }: StoredPool, settings: ProbeSettings, most: number): Promise<ProbeClaim | 'STALE'> {
    const claimKeys = [keys.settings, keys.members, keys.probes, keys.probing];
    const reply = await CLAIM.run(this.redis, claimKeys, [JSON.stringify(settings), most, CLAIM_MARGIN_MS]);
    const [word, left, nextMs, claim, ...taken] = reply as [string, number, number, number, ...string[]];
    if (word === 'STALE') return word;
    const members: MemberToProbe[] = [];
    for (let at = 0; at < taken.length; at += 2) {
      const id = taken[at] as string;
      const { value, labels } = readRecord(id, taken[at + 1] as string);
      members.push({ id, value, labels });
    }
    return { claim, members, left: left === 1, nextMs: nextMs < 0 ? null : nextMs };
  }

  /**
   * Lets outcomes count that were found by these settings.
   *
   * @returns what counted, and when the first of the members is due again, in ms by the server's clock, or null for never
   * @throws PoolNotFoundError
   */
  async settle(
    pool: string,
    settings: ProbeSettings,
    outcomes: readonly ProbeOutcome[],
  ): Promise<{ counts: ProbeCounts; nextMs: number | null }> {
    const args = outcomes.flatMap(({ id, claim, verdict, evidence }) => [id, claim, verdict, evidence]);
    const reply = await this.scripts.run(
      'probe-settle',
      pool,
      [JSON.stringify(settings), RETRY_MS, ...args],
      ['probing'],
    );
    const [, nextMs, eligible, unhealthy, none] = reply as unknown as [string, number, number, number, number];
    return { counts: { eligible, unhealthy, none }, nextMs: nextMs < 0 ? null : nextMs };
  }

  /**
   * Makes all candidates and unhealthy members of a pool due now.
   *
   * @param options `anew`: also those that are being probed, whose results then do not count
   * @returns how many are due
   */
  async schedule(keys: PoolKeys, { anew = false } = {}): Promise<number> {
    let [after, scheduled] = ['', 0];
    for (;;) {
      const args = [after, SCHEDULE_STEP, anew ? '1' : '0'];
      const reply = await SCHEDULE.run(this.redis, [keys.withdrawn, keys.probes, keys.probing], args);
      const [last, count] = reply as [string, number];
      scheduled += count;
      if (last === '') return scheduled;
      after = last;
    }
  }
}

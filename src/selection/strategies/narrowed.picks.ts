import { Inject, Injectable } from '@nestjs/common';
import { RedisUnavailableError } from '../../errors/domain.errors.js';
import { redisCall } from '../../redis/redis.call.js';
import type { RedisClient } from '../../redis/redis.client.js';
import { RedisScript } from '../../redis/redis.script.js';
import { REDIS_CLIENT } from '../../redis/redis.tokens.js';
import { type IndexFragment, loadScript } from '../../redis/script.loader.js';
import { KeyNames, catalogueKeys, dueEntry } from '../key.names.js';
import { NOT_NARROW, type Narrowing, narrowingArguments } from '../narrowing.js';
import { PoolOutdatedError } from '../pool.outdated.error.js';
import type { BatchResult, NothingReason, Selection } from '../selection.types.js';
import { readPicks } from './counted.picks.js';
import type { MemberIndex, PoolConfig } from './selection.strategy.js';

type Reply = readonly [word: string, lines: string, why: string, retryAfterMs: number];

/** The two scripts of an index: `pick` does what nearly every call needs, `select` all of it. */
interface IndexScripts {
  pick: RedisScript;
  select: RedisScript;
}

/** By then a member on trial that is about to be withdrawn has been. */
const SOON_MS = 1_000;
/** How many scripts one request may take: each looks at 4,000 members, and what it passed over for a target stays passed. */
const MAX_SCRIPTS = 1_000;

/** Picks among some of the members only, for strategies that reserve nothing, each by its index. */
@Injectable()
export class NarrowedPicks {
  private readonly scripts = new Map<string, IndexScripts>();

  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly names: KeyNames,
  ) {}

  /**
   * As many picks as `count` single ones in a row would give. In one atomic step, but where more than 4,000 members have to be
   * passed over, 1,000 bans have ended, somebody is on trial, or has come back behind the others of a target.
   *
   * @throws PoolOutdatedError when the pool is not as `pool` says
   */
  async pick(pool: PoolConfig, index: MemberIndex, count: number, narrowing: Narrowing): Promise<BatchResult> {
    return this.pickFrom(pool, index, count, narrowing, 'MORE');
  }

  /** The same where the strategy's own script could not go on: nobody is there, or somebody on trial. */
  async pickOn(pool: PoolConfig, index: MemberIndex, count: number): Promise<BatchResult> {
    return this.pickFrom(pool, index, count, NOT_NARROW, 'ASK');
  }

  private async pickFrom(
    pool: PoolConfig,
    index: MemberIndex,
    count: number,
    narrowing: Narrowing,
    first: string,
  ): Promise<BatchResult> {
    const selections: Selection[] = [];
    let why = first;
    for (let scripts = 0; scripts < MAX_SCRIPTS; scripts++) {
      const reply = await this.run(pool, index, count - selections.length, narrowing, why);
      const [word, lines, , retryAfterMs] = reply;
      if (word !== '') throw new PoolOutdatedError(pool.name);
      if (lines !== '') selections.push(...readPicks(pool, ['', lines]).selections);
      why = reply[2];
      if (why === '') return { selections, reason: null, retryAfterMs: null };
      if (REASONS.has(why)) {
        return { selections, reason: why as NothingReason, retryAfterMs: retryAfterMs < 0 ? null : retryAfterMs };
      }
    }
    throw new RedisUnavailableError(`Too many members of the pool "${pool.name}" had to be passed over. Try again.`);
  }

  /** @param why the script before did not finish; only MORE is for `pick` */
  private async run(
    pool: PoolConfig,
    index: MemberIndex,
    count: number,
    narrowing: Narrowing,
    why: string,
  ): Promise<Reply> {
    const { pick, select } = this.scriptsOf(index);
    const { settings, members, assigned, views, sessions, sessionEnds } = pool.keys;
    const more = [sessions, sessionEnds, ...this.names.target(pool.name, narrowing.target)];
    const rest = narrowingArguments(narrowing);
    if (why === 'MORE') {
      const keys = [settings, members, assigned, views, ...more, ...pool.indexKeys];
      return pick.run(this.redis, keys, [pool.settings.strategy, count, ...rest]) as Promise<Reply>;
    }
    // Before a member on trial is withdrawn: somebody looks at the pool, and finds when it is to return.
    const mayTry = why === 'TRIAL';
    if (mayTry) await redisCall(this.redis.zadd(this.names.due(), 'LT', Date.now() + SOON_MS, dueEntry(pool.name)));
    const keys = [...catalogueKeys(pool.keys), ...pool.indexKeys, assigned, ...more];
    const args = [pool.settings.strategy, count, mayTry ? '1' : '', ...rest];
    return select.run(this.redis, keys, args) as Promise<Reply>;
  }

  private scriptsOf({ kind, source, picking = '', parts }: MemberIndex): IndexScripts {
    let scripts = this.scripts.get(kind);
    if (!scripts) {
      const [index, picks] = [source, picking].map((each) => ({ source: each, keyCount: parts.length }));
      scripts = {
        pick: new RedisScript(loadScript('narrowed/pick.lua', [picks as IndexFragment])),
        select: new RedisScript(loadScript('narrowed/select.lua', [index, picks] as IndexFragment[])),
      };
      this.scripts.set(kind, scripts);
    }
    return scripts;
  }
}

const REASONS: ReadonlySet<string> = new Set<NothingReason>(['EMPTY_POOL', 'NONE_ELIGIBLE', 'NO_MATCH']);

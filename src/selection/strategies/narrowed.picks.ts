import { Inject, Injectable } from '@nestjs/common';
import { RedisUnavailableError } from '../../errors/domain.errors.js';
import { redisCall } from '../../redis/redis.call.js';
import type { RedisClient } from '../../redis/redis.client.js';
import { RedisScript } from '../../redis/redis.script.js';
import { REDIS_CLIENT } from '../../redis/redis.tokens.js';
import { loadScript } from '../../redis/script.loader.js';
import { KeyNames, catalogueKeys, dueEntry } from '../key.names.js';
import { type Narrowing, narrowingArguments } from '../narrowing.js';
import { PoolOutdatedError } from '../pool.outdated.error.js';
import type { BatchResult, NothingReason, Selection } from '../selection.types.js';
import { readPicks } from './counted.picks.js';
import type { MemberIndex, PoolConfig } from './selection.strategy.js';

type Reply = readonly [word: string, lines: string, why: string, retryAfterMs: number];

/** By then a member on trial that is about to be withdrawn has been. */
const SOON_MS = 1_000;
/** How many scripts one request may take: each looks at 4,000 members, and what it passed over for a target stays passed. */
const MAX_SCRIPTS = 1_000;

/** Picks among some of the members only, for strategies that reserve nothing, each by its index. */
@Injectable()
export class NarrowedPicks {
  private readonly scripts = new Map<string, RedisScript>();

  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly names: KeyNames,
  ) {}

  /**
   * As many picks as `count` single ones in a row would give. In one atomic step, but where more than 4,000 members have to be
   * passed over, or one on trial is to be picked.
   *
   * @throws PoolOutdatedError when the pool is not as `pool` says
   */
  async pick(pool: PoolConfig, index: MemberIndex, count: number, narrowing: Narrowing): Promise<BatchResult> {
    const script = this.scriptOf(index);
    const selections: Selection[] = [];
    let mayTry = false;
    for (let scripts = 0; scripts < MAX_SCRIPTS; scripts++) {
      const args = argumentsOf(pool, count - selections.length, mayTry, narrowing);
      const reply = (await script.run(this.redis, this.keysOf(pool, narrowing), args)) as Reply;
      const [word, lines, why, retryAfterMs] = reply;
      if (word !== '') throw new PoolOutdatedError(pool.name);
      if (lines !== '') selections.push(...readPicks(pool, ['', lines]).selections);
      if (why === '') return { selections, reason: null, retryAfterMs: null };
      if (why === 'TRIAL') await this.expectReturn(pool);
      mayTry = why === 'TRIAL';
      if (why !== 'TRIAL' && why !== 'MORE') {
        return { selections, reason: why as NothingReason, retryAfterMs: retryAfterMs < 0 ? null : retryAfterMs };
      }
    }
    throw new RedisUnavailableError(`Too many members of the pool "${pool.name}" had to be passed over. Try again.`);
  }

  /** Before a member on trial is withdrawn: somebody looks at the pool, and finds when it is to return. */
  private async expectReturn({ name }: PoolConfig): Promise<void> {
    await redisCall(this.redis.zadd(this.names.due(), 'LT', Date.now() + SOON_MS, dueEntry(name)));
  }

  private keysOf(pool: PoolConfig, { target }: Narrowing): string[] {
    const { assigned, sessions, sessionEnds } = pool.keys;
    const targetKeys = this.names.target(pool.name, target);
    return [...catalogueKeys(pool.keys), ...pool.indexKeys, assigned, sessions, sessionEnds, ...targetKeys];
  }

  private scriptOf(index: MemberIndex): RedisScript {
    let script = this.scripts.get(index.kind);
    if (!script) {
      const fragment = { source: index.source, keyCount: index.parts.length };
      script = new RedisScript(loadScript('narrowed/select.lua', [fragment]));
      this.scripts.set(index.kind, script);
    }
    return script;
  }
}

function argumentsOf(
  { settings }: PoolConfig,
  count: number,
  mayTry: boolean,
  narrowing: Narrowing,
): (string | number)[] {
  return [settings.strategy, count, mayTry ? '1' : '', ...narrowingArguments(narrowing)];
}

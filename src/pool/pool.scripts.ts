import { Inject, Injectable } from '@nestjs/common';
import { RedisUnavailableError } from '../errors/domain.errors.js';
import type { RedisClient } from '../redis/redis.client.js';
import { RedisScript } from '../redis/redis.script.js';
import { REDIS_CLIENT } from '../redis/redis.tokens.js';
import { type IndexFragment, loadScript } from '../redis/script.loader.js';
import { type PoolKeys, catalogueKeys } from '../selection/key.names.js';
import type { MemberIndex } from '../selection/strategies/selection.strategy.js';
import { PoolDirectory, type StoredPool } from './pool.directory.js';

export type ScriptArgs = readonly (string | number)[];
type CatalogueScript = 'import' | 'patch' | 'remove' | 'read' | 'judge' | 'return' | 'outcome' | 'probe-settle';
/** What a script says first: '' when it did its work, or why it did not. */
type Reply = readonly [word: string, ...rest: (string | number)[]];
/** What a script says when it is to be called again with the pool as it is by then. */
const OUTDATED: readonly unknown[] = ['STALE', 'MOVING'];

/** How often a script may find the caller's copy of the pool old before the call gives up. */
const MAX_ATTEMPTS = 5;
/** How often a member may be changed between being judged and being written: each time somebody else's change has got through. */
const MAX_CHANGES = 200;
/** Members carried in one step of a change of strategy: a step holds Redis for about two milliseconds. */
const MOVE_STEP = 250;

/** Runs the scripts of `lua/pool`, composed with the index of the pool's strategy, and finishes half-done changes of strategy. */
@Injectable()
export class PoolScripts {
  private readonly composed = new Map<string, RedisScript>();

  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly directory: PoolDirectory,
  ) {}

  /**
   * Runs a script of the catalogue with the pool's strategy as its first argument. A copy of the pool that turns out to be
   * old is read again.
   *
   * @param further keys that the script takes behind those of the index
   * @throws PoolNotFoundError when there is no such pool
   */
  async run(
    script: CatalogueScript,
    pool: string,
    args: ScriptArgs,
    further: readonly (keyof PoolKeys)[] = [],
  ): Promise<Reply> {
    return this.judgeAndRun(script, pool, () => Promise.resolve(args), further);
  }

  /**
   * Like `run`, for a script that takes what the caller has judged members by, first among them the fingerprint of the rules. Where
   * these have changed, or a member was changed meanwhile, it is judged again.
   *
   * @throws PoolNotFoundError when there is no such pool
   */
  async judgeAndRun(
    script: CatalogueScript,
    pool: string,
    judge: (pool: StoredPool) => Promise<ScriptArgs>,
    further: readonly (keyof PoolKeys)[] = [],
  ): Promise<Reply> {
    let known = this.directory.recall(pool) ?? (await this.settled(pool));
    for (let attempts = 0, changes = 0; attempts < MAX_ATTEMPTS && changes < MAX_CHANGES;) {
      const reply = await this.runOnce(script, known, await judge(known), further);
      if (reply[0] === 'CHANGED') {
        changes++;
      } else if (OUTDATED.includes(reply[0])) {
        attempts++;
        known = await this.settled(pool);
      } else {
        return reply;
      }
    }
    throw new RedisUnavailableError(`The pool "${pool}" kept changing. Try again.`);
  }

  /**
   * The pool as it is in Redis now, after any change of strategy that was left half done has been finished.
   *
   * @throws PoolNotFoundError
   */
  async settled(name: string): Promise<StoredPool> {
    const pool = await this.directory.read(name);
    if (pool.leaving === null) return pool;
    await this.move(pool, pool.leaving);
    return this.directory.read(name);
  }

  private async runOnce(
    script: CatalogueScript,
    pool: StoredPool,
    args: ScriptArgs,
    further: readonly (keyof PoolKeys)[],
  ): Promise<Reply> {
    const { strategy } = pool.settings;
    const keys = [...catalogueKeys(pool.keys), ...pool.indexKeys, ...further.map((key) => pool.keys[key])];
    const composed = this.compose(`pool/${script}.lua`, [this.directory.indexOf(strategy)]);
    return (await composed.run(this.redis, keys, [strategy, ...args])) as Reply;
  }

  private async move(pool: StoredPool, leaving: string): Promise<void> {
    const from = this.directory.configOf(pool.name, { ...pool.settings, strategy: leaving });
    const indexes = [this.directory.indexOf(leaving), this.directory.indexOf(pool.settings.strategy)];
    const script = this.compose('pool/move.lua', indexes);
    const keys = [...catalogueKeys(pool.keys), ...from.indexKeys, ...pool.indexKeys];
    let after = '';
    for (;;) {
      const last = await script.run(this.redis, keys, [pool.settings.strategy, leaving, after, MOVE_STEP]);
      if (typeof last !== 'string' || last === '') return;
      after = last;
    }
  }

  private compose(path: string, indexes: readonly MemberIndex[]): RedisScript {
    const name = [path, ...indexes.map((index) => index.kind)].join(' ');
    let script = this.composed.get(name);
    if (!script) {
      script = new RedisScript(loadScript(path, indexes.map(toFragment)));
      this.composed.set(name, script);
    }
    return script;
  }
}

function toFragment(index: MemberIndex): IndexFragment {
  return { source: index.source, keyCount: index.parts.length };
}

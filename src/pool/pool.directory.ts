import { Inject, Injectable } from '@nestjs/common';
import { PoolNotFoundError } from '../errors/domain.errors.js';
import { parseInput } from '../errors/parse.input.js';
import { redisCall } from '../redis/redis.call.js';
import type { RedisClient } from '../redis/redis.client.js';
import { REDIS_CLIENT } from '../redis/redis.tokens.js';
import { KeyNames } from '../selection/key.names.js';
import { COUNTED_INDEX } from '../selection/strategies/counted.index.js';
import type { MemberIndex, PoolConfig } from '../selection/strategies/selection.strategy.js';
import { StrategyRegistry } from '../selection/strategies/strategy.registry.js';
import type { LabelFilter } from '../eligibility/rules/label.filter.js';
import { MemberRules } from '../eligibility/rules/member.rules.js';
import { poolNameSchema, readFilters, readSettings } from './pool.settings.js';

export type StoredPool = PoolConfig & {
  /** The strategy that a pool leaves whose change of strategy is half done. */
  readonly leaving: string | null;
  /** The last member that was judged by the rules as they are; null when all are. */
  readonly judging: string | null;
  readonly rules: MemberRules;
};

const MAX_REMEMBERED = 10_000;

/** Finds a pool by its name, and remembers what it found, for speed only. */
@Injectable()
export class PoolDirectory {
  private readonly remembered = new Map<string, StoredPool>();

  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly names: KeyNames,
    private readonly registry: StrategyRegistry,
  ) {}

  /** The pool as remembered, which may be old. */
  recall(name: string): StoredPool | undefined {
    return this.remembered.get(name);
  }

  /**
   * The pool as it is in Redis now.
   *
   * @throws PoolNotFoundError | StrategyUnknownError | ValidationFailedError for a name that no pool can have
   */
  async read(name: string): Promise<StoredPool> {
    const pool = await this.find(name);
    if (!pool) throw new PoolNotFoundError(name);
    return pool;
  }

  /** Like `read`, but undefined when there is no such pool. */
  async find(name: string): Promise<StoredPool | undefined> {
    parseInput(poolNameSchema, name, 'pool');
    const fields = await redisCall(this.redis.hgetall(this.names.pool(name).settings));
    if (!fields['strategy']) {
      this.remembered.delete(name);
      return undefined;
    }
    const settings = readSettings(fields);
    const pool = {
      ...this.configOf(name, settings, readFilters(fields['ready'])),
      leaving: fields['leaving'] ?? null,
      judging: fields['judging'] ?? null,
      rules: new MemberRules(settings),
    };
    this.remember(pool);
    return pool;
  }

  /** What a pool of that name and strategy is; nothing is read. */
  configOf(name: string, settings: PoolConfig['settings'], ready: readonly LabelFilter[] = []): PoolConfig {
    const index = this.indexOf(settings.strategy);
    return {
      name,
      settings,
      ready,
      keys: this.names.pool(name),
      indexKeys: this.names.index(name, settings.strategy, index.parts),
    };
  }

  /** The index that members of a pool with that strategy are in. */
  indexOf(strategy: string): MemberIndex {
    return this.registry.get(strategy).index ?? COUNTED_INDEX;
  }

  private remember(pool: StoredPool): void {
    this.remembered.delete(pool.name);
    this.remembered.set(pool.name, pool);
    if (this.remembered.size > MAX_REMEMBERED) {
      const [oldest] = this.remembered.keys();
      this.remembered.delete(oldest as string);
    }
  }
}

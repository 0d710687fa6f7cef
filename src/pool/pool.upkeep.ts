import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { redisCall } from '../redis/redis.call.js';
import type { RedisClient } from '../redis/redis.client.js';
import { REDIS_CLIENT } from '../redis/redis.tokens.js';
import { KeyNames, dueEntry } from '../selection/key.names.js';
import { DueTicker, type Step } from '../selection/leases/due.ticker.js';
import { hasLifecycle } from '../selection/leases/lease.lifecycle.js';
import { StrategyRegistry } from '../selection/strategies/strategy.registry.js';
import { PoolDirectory } from './pool.directory.js';

/** By then what is about to be written has been written. */
const SOON_MS = 1_000;
const NOTHING = { more: false, nextMs: null };

/** Does what is due in pools whose strategy has leases: expiries, and room that a raised capacity makes. */
@Injectable()
export class PoolUpkeep implements OnModuleInit {
  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly names: KeyNames,
    private readonly directory: PoolDirectory,
    private readonly registry: StrategyRegistry,
    private readonly ticker: DueTicker,
  ) {}

  onModuleInit(): void {
    this.ticker.use((pool) => this.stepsOf(pool));
  }

  /** Does all that is due now. Should this process die on the way, whoever looks next goes on. */
  async catchUp(pool: string): Promise<void> {
    const step = await this.stepsOf(pool);
    let { more, nextMs } = await step();
    if (nextMs === null) return;
    await redisCall(this.redis.zadd(this.names.due(), 'LT', nextMs, dueEntry(pool)));
    while (more) ({ more, nextMs } = await step());
  }

  /** Has somebody look at the pool soon. */
  async register(pool: string): Promise<void> {
    await redisCall(this.redis.zadd(this.names.due(), 'LT', Date.now() + SOON_MS, dueEntry(pool)));
  }

  private async stepsOf(name: string): Promise<Step> {
    const pool = await this.directory.find(name);
    const strategy = pool && this.registry.get(pool.settings.strategy);
    return strategy && hasLifecycle(strategy) ? () => strategy.tick(pool) : () => Promise.resolve(NOTHING);
  }
}

import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { redisCall } from '../redis/redis.call.js';
import type { RedisClient } from '../redis/redis.client.js';
import { REDIS_CLIENT } from '../redis/redis.tokens.js';
import { KeyNames, dueEntry } from '../selection/key.names.js';
import { DueTicker } from '../selection/leases/due.ticker.js';
import { hasLifecycle } from '../selection/leases/lease.lifecycle.js';
import { StrategyRegistry } from '../selection/strategies/strategy.registry.js';
import { PoolDirectory } from './pool.directory.js';

interface Upkeep {
  /** There is more to do at once. */
  more: boolean;
  /** When something is due again, in ms by the server's clock; null for never. */
  nextMs: number | null;
}

/** By then what is about to be written has been written. */
const SOON_MS = 1_000;
const NOTHING: Upkeep = { more: false, nextMs: null };

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
    this.ticker.use((pool) => this.step(pool));
  }

  /** Does all that is due now. Should this process die on the way, whoever looks next goes on. */
  async catchUp(pool: string): Promise<void> {
    let { more, nextMs } = await this.step(pool);
    if (nextMs === null) return;
    await redisCall(this.redis.zadd(this.names.due(), 'LT', nextMs, dueEntry(pool)));
    while (more) ({ more, nextMs } = await this.step(pool));
  }

  /** Has somebody look at the pool soon. */
  async register(pool: string): Promise<void> {
    await redisCall(this.redis.zadd(this.names.due(), 'LT', Date.now() + SOON_MS, dueEntry(pool)));
  }

  private async step(name: string): Promise<Upkeep> {
    const pool = await this.directory.find(name);
    const strategy = pool && this.registry.get(pool.settings.strategy);
    return strategy && hasLifecycle(strategy) ? strategy.tick(pool) : NOTHING;
  }
}

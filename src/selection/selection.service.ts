import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { NoLeaseLifecycleError, RedisUnavailableError, ShuttingDownError } from '../errors/domain.errors.js';
import { parseInput } from '../errors/parse.input.js';
import { PoolDirectory, type StoredPool } from '../pool/pool.directory.js';
import { PoolScripts } from '../pool/pool.scripts.js';
import { redisCall } from '../redis/redis.call.js';
import type { RedisClient } from '../redis/redis.client.js';
import { REDIS_CLIENT } from '../redis/redis.tokens.js';
import { PoolOutdatedError } from './pool.outdated.error.js';
import {
  type BatchRequest,
  type BatchResult,
  type Selection,
  type SelectionRequest,
  type SelectionResult,
  batchRequestSchema,
  selectionRequestSchema,
} from './selection.types.js';
import type { SelectionStrategy } from './strategies/selection.strategy.js';
import { StrategyRegistry } from './strategies/strategy.registry.js';

/** How often a call may find that its copy of the pool is old before it gives up. */
const MAX_ATTEMPTS = 5;
const NO_REQUEST: SelectionRequest = {};

/** Answers "which one next?" with the strategy that the pool's settings name. */
@Injectable()
export class SelectionService implements BeforeApplicationShutdown {
  private closing = false;

  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly directory: PoolDirectory,
    private readonly registry: StrategyRegistry,
    private readonly scripts: PoolScripts,
  ) {}

  /**
   * Selects one eligible member and counts it, in one atomic step.
   *
   * @returns a null `selection` and the reason when there is none to select
   * @throws PoolNotFoundError | ValidationFailedError
   * @throws RedisUnavailableError when the reply was lost; one selection may then have been counted
   */
  async select(pool: string, request?: SelectionRequest): Promise<SelectionResult> {
    const checked = request === undefined ? NO_REQUEST : parseInput(selectionRequestSchema, request);
    return this.withPool(pool, (config, strategy) => strategy.select(config, checked));
  }

  /** As many selections as `count` single ones in a row would give: in one atomic step where the strategy can. */
  async selectBatch(pool: string, request: BatchRequest): Promise<BatchResult> {
    const { count, ...checked } = parseInput(batchRequestSchema, request);
    const batch = await this.withPool(pool, async (config, strategy) => strategy.selectBatch?.(config, count, checked));
    return batch ?? this.oneByOne(pool, count, checked);
  }

  /**
   * Makes sure that leases can be worked with in that pool.
   *
   * @throws NoLeaseLifecycleError for every strategy that there is so far: none of them hands out leases
   */
  async requireLeaseLifecycle(pool: string): Promise<never> {
    const { name, settings } = await this.directory.read(pool);
    throw new NoLeaseLifecycleError(name, settings.strategy);
  }

  /**
   * Makes sure that a selection could be made now.
   *
   * @throws RedisUnavailableError | ShuttingDownError
   */
  async requireReady(): Promise<void> {
    if (this.closing) throw new ShuttingDownError();
    await redisCall(this.redis.ping());
  }

  /** Whether the shutdown has begun. */
  get isClosing(): boolean {
    return this.closing;
  }

  /** From here on every call is refused; those under way end by themselves, since none waits longer than Redis may take. */
  beforeApplicationShutdown(): void {
    this.closing = true;
  }

  private async withPool<T>(
    name: string,
    work: (pool: StoredPool, strategy: SelectionStrategy) => Promise<T>,
  ): Promise<T> {
    if (this.closing) throw new ShuttingDownError();
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const recalled = attempt === 0 ? this.directory.recall(name) : undefined;
      const pool = recalled ?? (await this.scripts.settled(name));
      try {
        return await work(pool, this.registry.get(pool.settings.strategy));
      } catch (error) {
        if (!(error instanceof PoolOutdatedError)) throw error;
      }
    }
    throw new RedisUnavailableError(`The pool "${name}" kept changing while it was read. Try again.`);
  }

  private async oneByOne(pool: string, count: number, request: SelectionRequest): Promise<BatchResult> {
    const selections: Selection[] = [];
    while (selections.length < count) {
      const { selection, reason, retryAfterMs } = await this.select(pool, request);
      if (!selection) return { selections, reason, retryAfterMs };
      selections.push(selection);
    }
    return { selections, reason: null, retryAfterMs: null };
  }
}

import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { EvenhandError } from '../errors/evenhand.error.js';
import { ShuttingDownError, ValidationFailedError } from '../errors/domain.errors.js';
import { parseInput } from '../errors/parse.input.js';
import { redisCall } from '../redis/redis.call.js';
import type { RedisClient } from '../redis/redis.client.js';
import { REDIS_CLIENT } from '../redis/redis.tokens.js';
import { LeaseHandle } from './leases/lease.handle.js';
import { LeaseKeeper } from './leases/lease.keeper.js';
import { hasLifecycle } from './leases/lease.lifecycle.js';
import { LeaseService } from './leases/lease.service.js';
import type { Abandonment, Completion, Extension } from './leases/lease.types.js';
import { isNarrow } from './narrowing.js';
import { PoolAccess } from './pool.access.js';
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

const NO_REQUEST: SelectionRequest = {};
const NARROWING_FIELDS = ['labels', 'exclude', 'target', 'session'] as const;
/** How often a wait looks for an eligible member where the strategy has no line to stand in. */
const LOOK_MS = 100;

/** Answers "which one next?" with the strategy that the pool's settings name, and ends what it lends. */
@Injectable()
export class SelectionService implements BeforeApplicationShutdown {
  private readonly closing = new AbortController();

  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly access: PoolAccess,
    private readonly leases: LeaseService,
    private readonly keeper: LeaseKeeper,
  ) {}

  /**
   * Selects one eligible member and counts it, in one atomic step.
   *
   * @param signal ends a wait that the caller has given up; what it was handed goes to the next in line
   * @returns a null `selection` and the reason when there is none to select
   * @throws PoolNotFoundError | ValidationFailedError | RequestIdReusedError
   * @throws RedisUnavailableError when the reply was lost; one selection may then have been counted, and a lease made that
   *   nobody knows until it expires. A repeat with the same `requestId` finds it.
   */
  select(pool: string, request?: SelectionRequest, signal?: AbortSignal): Promise<SelectionResult> {
    // Nothing to check, and one promise less, which is several hundredths of a selection's time.
    if (request === undefined && !this.isClosing) return this.pick(pool, NO_REQUEST, signal);
    return this.checkAndPick(pool, request, signal);
  }

  /** As many selections as `count` single ones in a row would give: in one atomic step where the strategy can. */
  async selectBatch(pool: string, request: BatchRequest): Promise<BatchResult> {
    const { count, ...checked } = parseInput(batchRequestSchema, request);
    this.requireOpen();
    const batch = await this.access.with(pool, async (config, strategy) => {
      requireNarrowing(strategy, checked);
      return strategy.selectBatch?.(config, count, checked);
    });
    return batch ?? this.oneByOne(pool, count, checked);
  }

  /**
   * Selects a member and holds it: its lease is extended by itself until the handle is completed, abandoned or disposed of.
   *
   * @returns null when there is none to select
   */
  async hold(pool: string, request?: SelectionRequest, signal?: AbortSignal): Promise<LeaseHandle | null> {
    const { selection } = await this.select(pool, request, signal);
    if (!selection) return null;
    const ttlMs = selection.lease?.ttlMs ?? Number.POSITIVE_INFINITY;
    // The answer has been on its way for at most as long as a command may take, which the beats leave room for.
    const handle = new LeaseHandle(pool, selection, performance.now() + ttlMs, this.leases, (ended) => {
      this.keeper.release(ended);
    });
    if (selection.lease) this.keeper.keep(handle, selection.lease);
    return handle;
  }

  /**
   * Does work with a member, and completes its lease at the end: as a success, or as a failure where the work throws.
   *
   * @param work gets a signal that fires when the lease is lost
   * @returns what the work returned; null when there was no member to select
   */
  async withMember<T>(
    pool: string,
    request: SelectionRequest,
    work: (selection: Selection, signal: AbortSignal) => Promise<T>,
  ): Promise<{ result: T } | null> {
    await using handle = await this.hold(pool, request);
    if (!handle) return null;
    try {
      const result = await work(handle.selection, handle.signal);
      await settled(handle.complete({ outcome: 'success' }));
      return { result };
    } catch (error) {
      await settled(handle.complete({ outcome: 'failure' }));
      throw error;
    }
  }

  /** Ends a lease with an outcome. @throws LeaseNotFoundError | LeaseEndedError | LeaseExpiredError | StaleFenceError */
  complete(pool: string, lease: string, completion?: Completion): ReturnType<LeaseService['complete']> {
    return this.leases.complete(pool, lease, completion);
  }

  /** Gives a member back unused. @throws LeaseNotFoundError | LeaseEndedError | LeaseExpiredError | StaleFenceError */
  abandon(pool: string, lease: string, abandonment?: Abandonment): ReturnType<LeaseService['abandon']> {
    return this.leases.abandon(pool, lease, abandonment);
  }

  /** Pushes the expiry of a lease out. @throws LeaseNotFoundError | LeaseEndedError | LeaseExpiredError | StaleFenceError */
  extend(pool: string, lease: string, extension?: Extension): ReturnType<LeaseService['extend']> {
    return this.leases.extend(pool, lease, extension);
  }

  /**
   * Makes sure that a selection could be made now.
   *
   * @throws RedisUnavailableError | ShuttingDownError
   */
  async requireReady(): Promise<void> {
    this.requireOpen();
    await redisCall(this.redis.ping());
  }

  /** Whether the shutdown has begun. */
  get isClosing(): boolean {
    return this.closing.signal.aborted;
  }

  /** From here on every selection is refused; those under way end by themselves, since none waits longer than Redis may take. */
  beforeApplicationShutdown(): void {
    this.closing.abort();
  }

  private requireOpen(): void {
    if (this.isClosing) throw new ShuttingDownError();
  }

  private async checkAndPick(pool: string, request?: SelectionRequest, signal?: AbortSignal): Promise<SelectionResult> {
    const checked = request === undefined ? NO_REQUEST : parseInput(selectionRequestSchema, request);
    this.requireOpen();
    return this.pick(pool, checked, signal);
  }

  private pick(pool: string, request: SelectionRequest, signal?: AbortSignal): Promise<SelectionResult> {
    return this.access.with(pool, (config, strategy) => {
      requireNarrowing(strategy, request);
      if (request.waitMs === undefined || hasLifecycle(strategy)) return strategy.select(config, request, signal);
      return this.lookUntil(() => strategy.select(config, request), request.waitMs, signal);
    });
  }

  private async lookUntil(
    look: () => Promise<SelectionResult>,
    waitMs: number,
    given?: AbortSignal,
  ): Promise<SelectionResult> {
    const deadlineMs = performance.now() + waitMs;
    const signal = AbortSignal.any([this.closing.signal, ...(given ? [given] : [])]);
    for (;;) {
      const result = await look();
      const leftMs = deadlineMs - performance.now();
      if (result.selection || leftMs <= 0 || given?.aborted) return result;
      await sleep(Math.min(LOOK_MS, leftMs), undefined, { signal }).catch(() => undefined);
      this.requireOpen();
    }
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

/** @throws ValidationFailedError where a strategy of the host application cannot do what the request asks for */
function requireNarrowing({ name, narrows }: SelectionStrategy, request: SelectionRequest): void {
  if (narrows || !isNarrow(request)) return;
  const path = NARROWING_FIELDS.find((field) => request[field] !== undefined) ?? '';
  const message = `is not for pools with the strategy "${name}", which selects among all eligible members`;
  throw new ValidationFailedError(`"${path}" ${message}.`, [{ path, message }]);
}

/** The end of a lease changes nothing of what the work came to: one that is lost, or cannot be ended now, expires by itself. */
async function settled(ending: Promise<void>): Promise<void> {
  try {
    await ending;
  } catch (error) {
    if (!(error instanceof EvenhandError)) throw error;
  }
}

import { randomUUID } from 'node:crypto';
import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { RedisUnavailableError, ShuttingDownError } from '../../errors/domain.errors.js';
import { REDIS_MESSAGES, REDIS_OPTIONS } from '../../redis/redis.tokens.js';
import type { RedisMessages } from '../../redis/redis.messages.js';
import type { RedisOptions } from '../../redis/redis.options.js';
import { KeyNames } from '../key.names.js';
import type { Selection } from '../selection.types.js';
import type { PoolConfig } from '../strategies/selection.strategy.js';
import { readLeaseId } from './lease.name.js';
import type { AcquisitionResult, Told } from './lease.replies.js';
import { type Acquisition, LeaseScripts, type PollMode, type Wish } from './lease.scripts.js';

/** How often a process asks for its waiters, and shows by it that it is alive; a lost message costs no more than this. */
const POLL_MS = 500;
const POLL_AT_ONCE = 500;
const MAX_EARLY = 1_000;

/** What a waiter gets: a selection, the end of its time, or an answer that ends the wait. */
export type WaitOutcome = Selection | 'TIMED_OUT' | Exclude<AcquisitionResult, { word: 'WAITING' | 'LENT' }>;

export interface Wait {
  pool: PoolConfig;
  /** What was asked; its first token is the waiter's name, the wish's `waitMs` what is left from now on. */
  ask: Acquisition & { wish: Wish };
  ticket: string;
  /** The caller no longer wants to wait. */
  signal?: AbortSignal;
}

interface Waiter extends Wait {
  /** In the room; of two that wait for the same lease the second one has another than its name. */
  key: string;
  name: string;
  requestId: string;
  /** By this process's clock. */
  deadlineMs: number;
  end(outcome: WaitOutcome | Error): void;
}

/** The waiters of this process: who waits in line in Redis is told here. */
@Injectable()
export class WaitingRoom implements BeforeApplicationShutdown {
  /** The channel on which this process is told of its waiters. */
  readonly process: string;
  private readonly waiters = new Map<string, Waiter>();
  private readonly polling = new Set<string>();
  /** Waiters that were told before they were known here. */
  private readonly early = new Set<string>();
  private timer: NodeJS.Timeout | undefined;
  /** Since when Redis has not answered; undefined while it does. */
  private silentSince: number | undefined;
  private closing = false;

  constructor(
    private readonly scripts: LeaseScripts,
    @Inject(REDIS_MESSAGES) private readonly messages: RedisMessages,
    @Inject(REDIS_OPTIONS) private readonly options: RedisOptions,
    names: KeyNames,
  ) {
    this.process = names.channel(randomUUID());
  }

  /** Makes sure, before anybody stands in line, that this process can be told. */
  async open(): Promise<void> {
    if (this.closing) throw new ShuttingDownError();
    await this.messages.listen(this.process, (waiter) => {
      const found = this.waiters.get(waiter);
      if (found) void this.poll(found.pool, [found], 'keep');
      else this.noteEarly(waiter);
    });
  }

  /**
   * Waits until the waiter is handed a lease, its time is over, or the caller gives up.
   *
   * @throws RedisUnavailableError when Redis is silent for longer than a command may take; ShuttingDownError; PoolNotFoundError
   */
  wait(wait: Wait): Promise<WaitOutcome> {
    const name = wait.ask.tokens[0] ?? '';
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        ...wait,
        key: this.waiters.has(name) ? `${name} ${randomUUID()}` : name,
        name,
        requestId: wait.ask.wish.requestId,
        deadlineMs: Date.now() + wait.ask.wish.waitMs,
        end: (outcome) => {
          clearTimeout(timer);
          wait.signal?.removeEventListener('abort', giveUp);
          this.forget(waiter);
          if (outcome instanceof Error) reject(outcome);
          else resolve(outcome);
        },
      };
      const timer = setTimeout(() => void this.leave(waiter, 'leave'), wait.ask.wish.waitMs);
      const giveUp = () => {
        void this.leave(waiter, 'give-back');
      };
      wait.signal?.addEventListener('abort', giveUp);
      this.waiters.set(waiter.key, waiter);
      this.timer ??= setInterval(() => {
        this.pollAll();
      }, POLL_MS).unref();
      const isEarly = this.early.delete(name);
      if (wait.signal?.aborted) giveUp();
      else if (this.closing) void this.poll(waiter.pool, [waiter], 'give-back');
      else if (isEarly) void this.poll(waiter.pool, [waiter], 'keep');
    });
  }

  /** Of two that wait for the same lease the one that goes leaves the place to the other. */
  private async leave(waiter: Waiter, mode: PollMode): Promise<void> {
    if (waiter.requestId !== '' && this.hasTwin(waiter)) waiter.end('TIMED_OUT');
    else await this.poll(waiter.pool, [waiter], mode);
  }

  private hasTwin(waiter: Waiter): boolean {
    for (const other of this.waiters.values()) if (other !== waiter && other.name === waiter.name) return true;
    return false;
  }

  get size(): number {
    return this.waiters.size;
  }

  /** Tells all who wait; what was handed to them goes to the next in line. */
  async beforeApplicationShutdown(): Promise<void> {
    this.closing = true;
    clearInterval(this.timer);
    await Promise.all([...this.byPool()].map(([pool, waiters]) => this.poll(pool, waiters, 'give-back')));
  }

  /** The other connection may be quicker than the answer that somebody stands in line. */
  private noteEarly(waiter: string): void {
    if (this.early.size >= MAX_EARLY) this.early.clear();
    this.early.add(waiter);
  }

  private forget(waiter: Waiter): void {
    this.waiters.delete(waiter.key);
    if (this.waiters.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private byPool(): Map<PoolConfig, Waiter[]> {
    const pools = new Map<string, { pool: PoolConfig; waiters: Waiter[] }>();
    for (const waiter of this.waiters.values()) {
      const group = pools.get(waiter.pool.name) ?? { pool: waiter.pool, waiters: [] };
      group.waiters.push(waiter);
      pools.set(waiter.pool.name, group);
    }
    return new Map([...pools.values()].map(({ pool, waiters }) => [pool, waiters]));
  }

  private pollAll(): void {
    for (const [pool, waiters] of this.byPool()) {
      if (this.polling.has(pool.name)) continue;
      this.polling.add(pool.name);
      void this.pollInTurn(pool, waiters).finally(() => this.polling.delete(pool.name));
    }
  }

  /** So many at once that no script is long. */
  private async pollInTurn(pool: PoolConfig, waiters: readonly Waiter[]): Promise<void> {
    for (let at = 0; at < waiters.length; at += POLL_AT_ONCE)
      await this.poll(pool, waiters.slice(at, at + POLL_AT_ONCE), 'keep');
  }

  /** Asks for these waiters and tells each of them what there is to tell. Never rejects. */
  private async poll(pool: PoolConfig, waiters: readonly Waiter[], mode: PollMode): Promise<void> {
    const askedAt = Date.now();
    try {
      const told = await this.scripts.poll(pool, this.process, mode, waiters.map(asked));
      this.silentSince = undefined;
      await Promise.all(waiters.map((waiter, n) => this.tellSafely(waiter, told[n] ?? 'LOST', mode)));
    } catch (error) {
      this.fail(waiters, error, mode, askedAt);
    }
  }

  /** What goes wrong for one is not the others' trouble. */
  private async tellSafely(waiter: Waiter, told: Told, mode: PollMode): Promise<void> {
    try {
      await this.tell(waiter, told, mode);
    } catch (error) {
      this.fail([waiter], error, mode, Date.now());
    }
  }

  private async tell(waiter: Waiter, told: Told, mode: PollMode): Promise<void> {
    if (told === 'STILL') return;
    if (told !== 'LOST') return this.deliver(waiter, told);
    if (mode === 'give-back') waiter.end(this.closing ? new ShuttingDownError() : 'TIMED_OUT');
    else if (mode === 'leave') waiter.end('TIMED_OUT');
    else await this.rejoin(waiter);
  }

  /** What comes when the caller has gone is given back, unless a repeat with its requestId may still ask for it. */
  private async deliver(waiter: Waiter, selection: Selection): Promise<void> {
    const isWanted = this.waiters.has(waiter.key) && !waiter.signal?.aborted;
    const lease = isWanted || waiter.requestId !== '' ? undefined : readLeaseId(selection.lease?.id ?? '');
    if (lease) await this.scripts.settleOne(waiter.pool, [lease.name, 'a']);
    waiter.end(isWanted ? selection : 'TIMED_OUT');
  }

  /** One that was taken for dead, or was too slow to confirm, goes back to its old place. */
  private async rejoin(waiter: Waiter): Promise<void> {
    if (!this.waiters.has(waiter.key)) return;
    const { ticket, ask } = waiter;
    const wish = { ...ask.wish, ticket, waitMs: Math.max(1, waiter.deadlineMs - Date.now()) };
    const found = await this.scripts.acquire(waiter.pool, { ...waiter.ask, wish });
    if (found.word === 'WAITING') {
      // The caller may have gone while it was put back.
      if (!this.waiters.has(waiter.key))
        await this.scripts.poll(waiter.pool, this.process, 'give-back', [asked(waiter)]);
      return;
    }
    const [selection] = found.word === 'LENT' ? found.selections : [];
    if (selection) await this.deliver(waiter, selection);
    else waiter.end(found.word === 'LENT' ? 'TIMED_OUT' : found);
  }

  /** An outage that is shorter than a command may take is waited out. */
  private fail(waiters: readonly Waiter[], error: unknown, mode: PollMode, askedAt: number): void {
    const failure = error instanceof Error ? error : new Error(String(error));
    this.silentSince ??= askedAt;
    const isShort = Date.now() - this.silentSince < this.options.commandTimeoutMs;
    if (failure instanceof RedisUnavailableError && isShort && mode === 'keep') return;
    for (const waiter of waiters) waiter.end(mode === 'give-back' && this.closing ? new ShuttingDownError() : failure);
  }
}

function asked({ name, requestId }: Waiter): { waiter: string; requestId: string } {
  return { waiter: name, requestId };
}

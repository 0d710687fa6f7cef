import { Inject, Injectable } from '@nestjs/common';
import { PoolNotFoundError, ValidationFailedError } from '../../errors/domain.errors.js';
import { redisCall } from '../../redis/redis.call.js';
import type { RedisClient } from '../../redis/redis.client.js';
import { RedisScript } from '../../redis/redis.script.js';
import { REDIS_CLIENT } from '../../redis/redis.tokens.js';
import { loadScript } from '../../redis/script.loader.js';
import { KeyNames, leaseKeys } from '../key.names.js';
import { readRecord } from '../member.record.js';
import type { Selection } from '../selection.types.js';
import type { PoolConfig } from '../strategies/selection.strategy.js';
import type { Extended, ExtensionRequest, Settlement } from './lease.lifecycle.js';
import { leaseIdOf, readLeaseName } from './lease.name.js';
import type { LeaseEnding } from './lease.types.js';

type Reply = [word: string, ...rest: (string | number)[]];

/** What a selection asks of the pool, beside a token for each lease. */
export interface Acquisition {
  strategy: string;
  tokens: readonly string[];
  ttlMs: number | undefined;
  requestId: string;
  owner: string;
  /** Of the request, for a repeat with the same requestId. */
  hash: string;
  /** 0 not to wait. */
  waitMs: number;
  /** The channel of this process. */
  process: string;
  /** Of a waiter that lost its place; empty for a new one. */
  ticket: string;
}

export type AcquisitionResult =
  | { word: 'LENT'; selections: Selection[] }
  | { word: 'WAITING'; waiter: string; ticket: string }
  | { word: 'AT_CAPACITY' | 'NONE'; retryAfterMs: number | null }
  | { word: 'STALE' }
  | { word: 'REUSED'; endedAs?: LeaseEnding };

/** What has become of a waiter. */
export type Told = Selection | 'STILL' | 'LOST';

/** `keep` the place of a waiter that was handed nothing, `leave` the line, or leave it and give back what was handed over. */
export type PollMode = 'keep' | 'leave' | 'give-back';
const POLL_MODES: Record<PollMode, string> = { keep: '0', leave: '1', 'give-back': '2' };

const ACQUIRE = new RedisScript(loadScript('least-concurrency/acquire.lua'));
const SETTLE = new RedisScript(loadScript('least-concurrency/settle.lua'));
const EXTEND = new RedisScript(loadScript('least-concurrency/extend.lua'));
const TICK = new RedisScript(loadScript('least-concurrency/tick.lua'));
const POLL = new RedisScript(loadScript('least-concurrency/poll.lua'));

const ENDINGS: Readonly<Record<string, LeaseEnding>> = { c: 'completed', a: 'abandoned', e: 'expired', f: 'forced' };
/** How often one acquisition may be asked to register the pool first. */
const MAX_REGISTRATIONS = 3;
const FIELDS_PER_PICK = 3;
const FIELDS_PER_WAITER = 5;

/** Runs the scripts of `lua/least-concurrency` and reads what they answer. */
@Injectable()
export class LeaseScripts {
  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly names: KeyNames,
  ) {}

  /** @throws ValidationFailedError for a TTL above the pool's longest */
  async acquire(pool: PoolConfig, ask: Acquisition): Promise<AcquisitionResult> {
    let registeredMs = 0;
    for (let attempt = 0; attempt <= MAX_REGISTRATIONS; attempt++) {
      const reply = await this.acquireOnce(pool, ask, registeredMs);
      if (reply[0] !== 'REGISTER') return readAcquisition(reply);
      registeredMs = reply[1] as number;
      // Before the lease: whoever dies in between leaves a look for nothing, not a lease that nobody looks after.
      await redisCall(this.redis.zadd(this.names.due(), 'LT', registeredMs, `${pool.name}!`));
    }
    return { word: 'AT_CAPACITY', retryAfterMs: null };
  }

  async settle(pool: PoolConfig, lease: string, how: LeaseEnding, isStale: boolean): Promise<Settlement> {
    const [word, before] = await this.run(SETTLE, pool, [lease, how.charAt(0), isStale ? '1' : '0']);
    if (word === 'NO_POOL') throw new PoolNotFoundError(pool.name);
    return word === '' ? 'ended-now' : readEnding(word, String(before));
  }

  async extend(pool: PoolConfig, requests: readonly ExtensionRequest[]): Promise<Extended[]> {
    const args = requests.flatMap(({ lease, ttlMs, isStale }) => [lease.name, ttlMs ?? '', isStale ? '1' : '0']);
    const reply = await this.run(EXTEND, pool, args);
    requireTtl(reply);
    if (reply[0] === 'NO_POOL') throw new PoolNotFoundError(pool.name);
    return reply.slice(1).map((found) => (typeof found === 'number' ? { expiresMs: found } : readExtended(found)));
  }

  async tick(pool: PoolConfig): Promise<{ more: boolean; nextMs: number | null }> {
    const keys = [...leaseKeys(pool.keys, pool.indexKeys), pool.keys.eligible];
    const [more, nextMs] = (await TICK.run(this.redis, keys, [])) as [number, number];
    return { more: more === 1, nextMs: nextMs < 0 ? null : nextMs };
  }

  /** @throws PoolNotFoundError */
  async poll(
    pool: PoolConfig,
    process: string,
    mode: PollMode,
    waiters: readonly { waiter: string; requestId: string }[],
  ): Promise<Told[]> {
    const args = waiters.flatMap(({ waiter, requestId }) => [waiter, requestId]);
    const [word, nowMs, ...fields] = await this.run(POLL, pool, [process, POLL_MODES[mode], ...args]);
    if (word === 'NO_POOL') throw new PoolNotFoundError(pool.name);
    return waiters.map((_, n) => readTold(fields.slice(n * FIELDS_PER_WAITER), Number(nowMs)));
  }

  private acquireOnce(pool: PoolConfig, ask: Acquisition, registeredMs: number): Promise<Reply> {
    const { strategy, ttlMs = '', requestId, owner, hash, waitMs, process, ticket, tokens } = ask;
    const args = [strategy, registeredMs, ttlMs, requestId, owner, hash, waitMs, process, ticket, ...tokens];
    return this.run(ACQUIRE, pool, args);
  }

  private async run(script: RedisScript, pool: PoolConfig, args: readonly (string | number)[]): Promise<Reply> {
    return (await script.run(this.redis, leaseKeys(pool.keys, pool.indexKeys), args)) as Reply;
  }
}

function readAcquisition(reply: Reply): AcquisitionResult {
  requireTtl(reply);
  const [word, first, second] = reply;
  if (word === '') return { word: 'LENT', selections: readPicks(reply) };
  if (word === 'WAITING') return { word, waiter: String(first), ticket: String(second) };
  if (word === 'AT_CAPACITY' || word === 'NONE')
    return { word, retryAfterMs: (first as number) < 0 ? null : (first as number) };
  if (word !== 'REUSED') return { word: 'STALE' };
  const endedAs = ENDINGS[String(first)];
  return endedAs ? { word, endedAs } : { word };
}

function readPicks([, nowMs, expiresMs, ...fields]: Reply): Selection[] {
  const selections: Selection[] = [];
  for (let at = 0; at < fields.length; at += FIELDS_PER_PICK) {
    const [lease, assigned, record] = fields.slice(at, at + FIELDS_PER_PICK) as [string, number, string];
    selections.push(toSelection(lease, assigned, record, Number(nowMs), Number(expiresMs)));
  }
  return selections;
}

function readTold(fields: readonly (string | number)[], nowMs: number): Told {
  const [word, lease, expiresMs, assigned, record] = fields as [string, string, number, number, string];
  if (word !== 'LEASE') return word === 'STILL' ? 'STILL' : 'LOST';
  return toSelection(lease, assigned, record, nowMs, expiresMs);
}

function toSelection(lease: string, assigned: number, record: string, nowMs: number, expiresMs: number): Selection {
  const name = readLeaseName(lease);
  const { value, labels } = readRecord(name.memberId, record);
  return {
    member: { id: name.memberId, value, labels },
    assigned,
    lease: {
      id: leaseIdOf(name),
      fence: name.fence,
      ttlMs: expiresMs - nowMs,
      expiresAt: new Date(expiresMs).toISOString(),
    },
  };
}

function readEnding(word: string, how: string): Exclude<Settlement, 'ended-now'> {
  const endedAs = ENDINGS[how];
  if (word === 'ENDED' && endedAs) return { endedAs };
  return word === 'STALE_FENCE' ? 'stale-fence' : 'unknown';
}

function readExtended(word: string): Exclude<Settlement, 'ended-now'> {
  if (word === 's') return 'stale-fence';
  const endedAs = ENDINGS[word];
  return endedAs ? { endedAs } : 'unknown';
}

function requireTtl([word, most]: Reply): void {
  if (word !== 'TTL_TOO_LONG') return;
  const message = `must be at most lease.maxTtlMs of the pool, which is ${most}`;
  throw new ValidationFailedError(`"ttlMs" ${message}.`, [{ path: 'ttlMs', message }]);
}

import { Inject, Injectable } from '@nestjs/common';
import { MemberNotFoundError, PoolNotFoundError } from '../../errors/domain.errors.js';
import { parseInput } from '../../errors/parse.input.js';
import { DueIndex } from '../../pool/due.index.js';
import type { WithdrawalReason } from '../../pool/member.js';
import { memberIdSchema } from '../../pool/member.schema.js';
import { PoolDirectory, type StoredPool } from '../../pool/pool.directory.js';
import { PoolScripts } from '../../pool/pool.scripts.js';
import type { RedisClient } from '../../redis/redis.client.js';
import { RedisScript } from '../../redis/redis.script.js';
import { REDIS_CLIENT } from '../../redis/redis.tokens.js';
import { loadScript } from '../../redis/script.loader.js';
import { KeyNames } from '../../selection/key.names.js';
import {
  type Outcome,
  type OutcomeBatch,
  type OutcomeName,
  type OutcomeResult,
  outcomeBatchSchema,
  outcomeSchema,
} from './outcome.types.js';

const BAN = new RedisScript(loadScript('pool/ban.lua'));
/** How long a target is kept after its last ban has ended. */
const TARGET_KEPT_MS = 3_600_000;
/** Outcomes taken in by one script, which holds Redis for about two milliseconds. */
const STEP = 100;

/** One outcome of one member. */
export interface MemberOutcome {
  id: string;
  outcome: OutcomeName;
  target?: string | undefined;
  /** When the work began, in ms by the server's clock; absent for unknown. */
  beganMs?: number | undefined;
}

type Numbered = MemberOutcome & { at: number };

const UNKNOWN: OutcomeResult = { status: 'unknown-member', reason: null, returnsAt: null };

/** Takes in how work with members went: cooldowns and bans follow from it, by the pool's health rules. */
@Injectable()
export class OutcomeService {
  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly names: KeyNames,
    private readonly directory: PoolDirectory,
    private readonly scripts: PoolScripts,
    private readonly due: DueIndex,
  ) {}

  /** @throws PoolNotFoundError | MemberNotFoundError | ValidationFailedError */
  async report(pool: string, id: string, outcome: Outcome): Promise<OutcomeResult> {
    const checked = parseInput(outcomeSchema, outcome);
    const [result] = await this.takeIn(pool, [{ id: parseInput(memberIdSchema, id, 'id'), ...read(checked) }]);
    if (!result || result.status === 'unknown-member') throw new MemberNotFoundError(pool, id);
    return result;
  }

  /**
   * Several outcomes, in their order; one of a member that is not there does not stand in the way of the others.
   *
   * @throws PoolNotFoundError | ValidationFailedError
   */
  async reportBatch(pool: string, batch: OutcomeBatch): Promise<{ outcomes: (OutcomeResult & { id: string })[] }> {
    const { outcomes } = parseInput(outcomeBatchSchema, batch);
    const results = await this.takeIn(
      pool,
      outcomes.map(({ id, ...outcome }) => ({ id, ...read(outcome) })),
    );
    return { outcomes: outcomes.map(({ id }, n) => ({ id, ...(results[n] ?? UNKNOWN) })) };
  }

  /** Whether an outcome may have an effect in a pool; `banned` always may. */
  matters({ settings }: StoredPool, outcome: OutcomeName): boolean {
    return outcome === 'banned' || settings.health !== null;
  }

  /** Takes in outcomes that have been checked. @throws PoolNotFoundError */
  async takeIn(name: string, outcomes: readonly MemberOutcome[]): Promise<OutcomeResult[]> {
    const pool = await this.directory.read(name);
    const numbered = outcomes.map((outcome, at) => ({ ...outcome, at }));
    const results: OutcomeResult[] = [];
    const isBan = ({ outcome, target }: MemberOutcome) => outcome === 'banned' && target !== undefined;
    for (const [target, bans] of groupBy(numbered.filter(isBan), ({ target: each = '' }) => each))
      await this.ban(pool, target, bans, results);
    const others = numbered.filter((outcome) => !isBan(outcome));
    for (let at = 0; at < others.length; at += STEP) await this.count(pool, others.slice(at, at + STEP), results);
    return results;
  }

  private async ban({ name, keys }: StoredPool, target: string, bans: Numbered[], results: OutcomeResult[]) {
    const scriptKeys = [keys.settings, keys.members, keys.targets, ...this.names.target(name, target)];
    const [word, ...until] = (await BAN.run(this.redis, scriptKeys, [
      target,
      TARGET_KEPT_MS,
      ...bans.map(({ id }) => id),
    ])) as string[];
    if (word === 'NO_POOL') throw new PoolNotFoundError(name);
    bans.forEach(({ at }, n) => {
      results[at] = until[n] ? { status: 'counted', reason: null, returnsAt: isoOf(until[n]) } : UNKNOWN;
    });
  }

  /** What may begin a cooldown is registered before: should this process die, another lets the members return. */
  private async count(pool: StoredPool, outcomes: Numbered[], results: OutcomeResult[]): Promise<void> {
    if (outcomes.some(({ outcome }) => outcome !== 'success' && this.matters(pool, outcome))) {
      await this.due.register(pool.name);
    }
    const args = outcomes.flatMap(({ id, outcome, beganMs }) => [id, outcome.charAt(0), beganMs ?? '']);
    const found = (await this.scripts.run('outcome', pool.name, args)).slice(1).map(String);
    outcomes.forEach(({ at }, n) => (results[at] = readResult(found[n * 2] ?? '', found[n * 2 + 1] ?? '-')));
    const ends = outcomes.map(({ at }) => results[at]?.returnsAt).filter((end) => typeof end === 'string');
    if (ends.length > 0) await this.due.expect(pool.name, Math.min(...ends.map((end) => Date.parse(end))));
  }
}

function read({ outcome, target, selectedAt }: Outcome): Omit<MemberOutcome, 'id'> {
  return { outcome, target, beganMs: selectedAt === undefined ? undefined : Date.parse(selectedAt) };
}

function readResult(reason: string, returnsAt: string): OutcomeResult {
  if (reason === '') return UNKNOWN;
  return {
    status: 'counted',
    reason: reason === '-' ? null : (reason as WithdrawalReason),
    returnsAt: returnsAt === '-' ? null : isoOf(returnsAt),
  };
}

function isoOf(ms: string): string {
  return new Date(Number(ms)).toISOString();
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

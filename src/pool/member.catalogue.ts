import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';
import { MemberNotFoundError } from '../errors/domain.errors.js';
import { parseInput } from '../errors/parse.input.js';
import { redisCall } from '../redis/redis.call.js';
import type { RedisClient } from '../redis/redis.client.js';
import { RedisScript } from '../redis/redis.script.js';
import { REDIS_CLIENT } from '../redis/redis.tokens.js';
import { loadScript } from '../redis/script.loader.js';
import { basisOf, readRecord, writeLabels } from '../selection/member.record.js';
import type { MemberChanges, MemberState, MemberView, WithdrawalReason } from './member.js';
import { capacitySchema, labelsSchema, memberIdSchema, weightSchema } from './member.schema.js';
import { type Page, pageOf, pageRequestSchema, readCursor } from './page.js';
import { PoolScripts, type ScriptArgs } from './pool.scripts.js';
import type { StoredPool } from './pool.directory.js';

const IDS = new RedisScript(loadScript('pool/ids.lua'));
/** How many removed members a pool remembers, the latest. */
export const HISTORY_MAX = 100_000;
const FIELDS_PER_MEMBER = 7;
const MAX_COOLDOWN_MS = 7 * 24 * 60 * 60 * 1_000;

export const memberPageRequestSchema = pageRequestSchema.extend({
  state: z.enum(['eligible', 'withdrawn']).optional().describe('Only members in that state'),
});
export type MemberPageRequest = z.input<typeof memberPageRequestSchema>;

export const memberChangesSchema = z.strictObject({
  state: z
    .enum(['eligible', 'disabled'])
    .optional()
    .describe('`disabled` withdraws the member; `eligible` lifts `disabled` and `cooling`, nothing else'),
  cooldownMs: z
    .int()
    .min(1)
    .max(MAX_COOLDOWN_MS)
    .optional()
    .describe('Withdraws the member for so long, in ms; a cooldown that is running is not shortened'),
  labels: labelsSchema.optional(),
  weight: weightSchema.optional(),
  capacity: capacitySchema.optional(),
});

/** Shows, changes and removes members. */
@Injectable()
export class MemberCatalogue {
  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly scripts: PoolScripts,
  ) {}

  /** Members in the order of the bytes of their ids. */
  async list(pool: string, request: MemberPageRequest = {}): Promise<Page<'members', MemberView>> {
    const { limit, cursor, state } = parseInput(memberPageRequestSchema, request);
    const after = cursor === undefined ? undefined : readCursor(cursor);
    const ids = await this.ids(await this.scripts.settled(pool), limit + 1, state, after);
    const { items, nextCursor } = pageOf(ids, limit, (id) => id);
    return { members: items.length === 0 ? [] : await this.read(pool, items), nextCursor };
  }

  /** @throws PoolNotFoundError | MemberNotFoundError */
  async get(pool: string, id: string): Promise<MemberView> {
    const [member] = await this.read(pool, [parseInput(memberIdSchema, id, 'id')]);
    if (!member) throw new MemberNotFoundError(pool, id);
    return member;
  }

  /**
   * Changes what is given, which has been checked, and keeps the rest. Safe to repeat.
   *
   * @throws PoolNotFoundError | MemberNotFoundError | ValidationFailedError
   */
  async patch(pool: string, id: string, changes: MemberChanges): Promise<MemberView> {
    const memberId = parseInput(memberIdSchema, id, 'id');
    const [word] = await this.scripts.judgeAndRun('patch', pool, (known) =>
      this.patchArguments(known, memberId, changes),
    );
    if (word === 'MISSING') throw new MemberNotFoundError(pool, id);
    return this.get(pool, id);
  }

  /**
   * Removes a member. Its history is kept for a later return unless `forget` is set.
   *
   * @throws PoolNotFoundError | MemberNotFoundError
   */
  async remove(pool: string, id: string, { forget = false } = {}): Promise<void> {
    const checked = parseInput(memberIdSchema, id, 'id');
    const [, removed] = await this.scripts.run('remove', pool, ['', 0, forget ? '1' : '0', HISTORY_MAX, checked]);
    if (removed === 0) throw new MemberNotFoundError(pool, id);
  }

  /** Ids in the order of their bytes, at most `limit`, from the one after `after` on. */
  async ids(pool: StoredPool, limit: number, state?: MemberState, after?: string): Promise<string[]> {
    const states = state ? [state] : (['eligible', 'withdrawn'] as const);
    const from = after === undefined ? '-' : `(${after}`;
    const keys = states.map((each) => pool.keys[each]);
    const found = (await IDS.run(this.redis, keys, [from, limit])) as string[][];
    return found.length === 1 ? (found[0] as string[]) : inByteOrder(found.flat()).slice(0, limit);
  }

  /** How many members the pool has, withdrawn ones included. */
  async count({ keys }: StoredPool): Promise<number> {
    const [eligible, withdrawn] = await redisCall(
      Promise.all([this.redis.zcard(keys.eligible), this.redis.zcard(keys.withdrawn)]),
    );
    return eligible + withdrawn;
  }

  private async patchArguments(
    { keys, rules }: StoredPool,
    id: string,
    { state, cooldownMs, labels, weight, capacity }: MemberChanges,
  ): Promise<ScriptArgs> {
    const given = [state ?? '', cooldownMs ?? '', labels ? writeLabels(labels) : '', weight ?? ''];
    const change = [rules.fingerprint, id, ...given, capacityArgument(capacity)];
    if (rules.isEmpty) return [...change, '', '', ''];
    const text = await redisCall(this.redis.hget(keys.members, id));
    const record = readRecord(id, text ?? '');
    const { views, violation } = rules.judge({ id, value: record.value, labels: labels ?? record.labels });
    return [...change, views, violation, basisOf(text)];
  }

  /** The members with these ids; those that are gone are left out. */
  private async read(pool: string, ids: readonly string[]): Promise<MemberView[]> {
    const [, ...fields] = await this.scripts.run('read', pool, ids);
    const views: MemberView[] = [];
    ids.forEach((id, n) => {
      const view = toView(id, fields.slice(n * FIELDS_PER_MEMBER, (n + 1) * FIELDS_PER_MEMBER));
      if (view) views.push(view);
    });
    return views;
  }
}

type MemberFields = [
  text: string,
  assigned: number,
  inFlight: number,
  reason: string,
  returnsAt: string,
  reasons: string,
  evidence: string,
];

function toView(id: string, fields: (string | number)[]): MemberView | undefined {
  const [text, assigned, inFlight, reason, returnsAt, reasons, evidence] = fields as MemberFields;
  if (text === '') return undefined;
  const { labels, weight, capacity } = readRecord(id, text);
  return {
    id,
    labels,
    weight,
    capacity,
    state: reason === '-' ? 'eligible' : 'withdrawn',
    reason: reason === '-' ? null : (reason as WithdrawalReason),
    reasons: reasons === '' ? [] : (reasons.split(' ') as WithdrawalReason[]),
    evidence: evidence === '' ? null : evidence,
    returnsAt: returnsAt === '-' ? null : new Date(Number(returnsAt)).toISOString(),
    assigned,
    inFlight,
  };
}

/** Capacity as the scripts take it: '' for absent, '-' for the pool's. */
export function capacityArgument(capacity: number | null | undefined): string | number {
  return capacity === undefined ? '' : (capacity ?? '-');
}

function inByteOrder(ids: readonly string[]): string[] {
  return ids
    .map((id) => Buffer.from(id))
    .sort((a, b) => Buffer.compare(a, b))
    .map(String);
}

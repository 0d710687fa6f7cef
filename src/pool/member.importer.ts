import { setImmediate as nextTurn } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';
import { EmptySourceError, ImportRunningError } from '../errors/domain.errors.js';
import { parseInput } from '../errors/parse.input.js';
import { redisCall } from '../redis/redis.call.js';
import type { RedisClient } from '../redis/redis.client.js';
import { REDIS_CLIENT } from '../redis/redis.tokens.js';
import { basisOf, readRecord, writeLabels } from '../selection/member.record.js';
import { DueIndex } from './due.index.js';
import { IMPORT_LOCK_TTL_MS, withImportLock } from './import.lock.js';
import { type ListEntry, type ListFormat, PROXY_SCHEMES } from './lists/member.list.js';
import { readList } from './lists/read.list.js';
import type { MemberInput } from './member.js';
import { HISTORY_MAX, MemberCatalogue, capacityArgument } from './member.catalogue.js';
import { PasswordTags } from './password.tags.js';
import type { StoredPool } from './pool.directory.js';
import { PoolScripts, type ScriptArgs } from './pool.scripts.js';

/** Members in one step: a step holds Redis for about two milliseconds. */
const STEP = 250;
/** Steps under way at the same time: one is carried out while the next is on its way. */
const STEPS_AT_ONCE = 2;
/** List entries read before other work gets its turn. */
const ENTRIES_A_TURN = 1_000;
/** How many rejected entries a report names. */
const MAX_REJECTED = 1_000;

export const importOptionsSchema = z.strictObject({
  mode: z
    .enum(['merge', 'replace'])
    .default('merge')
    .describe('`replace` removes, at the end, the members that the list does not name'),
  dryRun: z.boolean().default(false).describe('Report what would happen and change nothing'),
  defaultScheme: z.enum(PROXY_SCHEMES).default('http').describe('The scheme of an entry that names none'),
});
export type ImportOptions = z.input<typeof importOptionsSchema>;

/** A list of members as somebody has it. */
export interface MemberSource {
  format: ListFormat;
  body: Uint8Array | string;
}

/** What an import did, or would do. */
export interface ImportReport {
  added: number;
  updated: number;
  /** Members that were removed before and came back with their history. */
  restored: number;
  unchanged: number;
  /** Repeats within the list; the first one counts. */
  duplicates: number;
  removed: number;
  /** Members of the pool afterwards. */
  total: number;
  rejectedTotal: number;
  /** The first 1,000 entries that were rejected. */
  rejected: { line: number; reason: string }[];
}

/** A list that was read and checked whole. */
interface CheckedList {
  members: Map<string, MemberInput>;
  duplicates: number;
  rejectedTotal: number;
  rejected: ImportReport['rejected'];
}

type Counts = [added: number, updated: number, restored: number, unchanged: number];

/**
 * Puts lists of members into pools. A list is read and checked whole before the first write, and applied in bounded steps,
 * removals last: an import that is cut off can be repeated and ends right.
 */
@Injectable()
export class MemberImporter {
  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly scripts: PoolScripts,
    private readonly catalogue: MemberCatalogue,
    private readonly tags: PasswordTags,
    private readonly due: DueIndex,
  ) {}

  /**
   * @param sources are taken together, as one list
   * @throws PoolNotFoundError | ImportRunningError | EmptySourceError | ColumnsUnknownError | ValidationFailedError
   */
  async import(poolName: string, sources: readonly MemberSource[], options: ImportOptions = {}): Promise<ImportReport> {
    const { mode, dryRun, defaultScheme } = parseInput(importOptionsSchema, options);
    const pool = await this.scripts.settled(poolName);
    const passwordTag = await this.tags.open();
    const list = await check(sources, (source) => readList(source.format, source.body, { defaultScheme, passwordTag }));
    if (mode === 'replace' && list.members.size === 0) throw new EmptySourceError(poolName, list.rejectedTotal);
    if (dryRun) return this.apply(pool, list, mode, '', true);
    return withImportLock(this.redis, pool, (token) => this.apply(pool, list, mode, token, false));
  }

  private async apply(
    pool: StoredPool,
    list: CheckedList,
    mode: 'merge' | 'replace',
    token: string,
    dryRun: boolean,
  ): Promise<ImportReport> {
    const [added, updated, restored, unchanged] = await this.put(pool.name, [...list.members.values()], token, dryRun);
    const removed = mode === 'replace' ? await this.removeOthers(pool, list.members, token, dryRun) : 0;
    const found = await this.catalogue.count(pool);
    const total = dryRun ? found + added + restored - removed : found;
    const { duplicates, rejectedTotal, rejected } = list;
    return { added, updated, restored, unchanged, duplicates, removed, total, rejectedTotal, rejected };
  }

  private async put(pool: string, members: readonly MemberInput[], token: string, dryRun: boolean): Promise<Counts> {
    const totals: Counts = [0, 0, 0, 0];
    let next = 0;
    const worker = async () => {
      while (next < members.length) {
        const step = members.slice(next, (next += STEP));
        const [word, ...counts] = await this.scripts.judgeAndRun('import', pool, async (known) => {
          if (!dryRun && (await this.mayBeDue(known))) await this.due.register(pool);
          const judged = await this.judge(known, step);
          return [known.rules.fingerprint, token, IMPORT_LOCK_TTL_MS, dryRun ? '1' : '0', ...judged];
        });
        if (word === 'LOCK_LOST') throw new ImportRunningError(pool);
        counts.forEach((count, n) => (totals[n as 0] += Number(count)));
      }
    };
    const workers = Array.from({ length: STEPS_AT_ONCE }, worker);
    await Promise.all(workers).catch(async (error: unknown) => {
      next = members.length;
      await Promise.allSettled(workers);
      throw error;
    });
    return totals;
  }

  /** Whether members of an import may come to wait for something: a probe, or the end of a cooldown from before. */
  private async mayBeDue({ keys, rules }: StoredPool): Promise<boolean> {
    return rules.fingerprint !== '' || (await redisCall(this.redis.exists(keys.history))) === 1;
  }

  /** The members of a step as lua/pool/import.lua takes them. What a list leaves out is judged as it is in the pool. */
  private async judge({ keys, rules }: StoredPool, step: readonly MemberInput[]): Promise<ScriptArgs> {
    if (rules.isEmpty) return step.flatMap((member) => [...toArguments(member), '', '', '']);
    const partial = step.filter(({ value, labels }) => value === undefined || labels === undefined);
    const ids = partial.map(({ id }) => id);
    const texts = ids.length > 0 ? await redisCall(this.redis.hmget(keys.members, ...ids)) : [];
    const found = new Map(ids.map((id, n) => [id, texts[n] ?? null]));
    return step.flatMap((member) => {
      const text = found.get(member.id);
      const record = readRecord(member.id, text ?? '');
      const { value = record.value, labels = record.labels } = member;
      const { views, violation } = rules.judge({ id: member.id, value, labels });
      return [...toArguments(member), views, violation, text === undefined ? '' : basisOf(text)];
    });
  }

  private async removeOthers(
    pool: StoredPool,
    keep: ReadonlyMap<string, unknown>,
    token: string,
    dryRun: boolean,
  ): Promise<number> {
    let removed = 0;
    let after: string | undefined;
    for (;;) {
      const ids = await this.catalogue.ids(pool, STEP, undefined, after);
      if (ids.length === 0) return removed;
      after = ids.at(-1);
      const others = ids.filter((id) => !keep.has(id));
      removed += dryRun || others.length === 0 ? others.length : await this.removeStep(pool.name, others, token);
    }
  }

  private async removeStep(pool: string, ids: readonly string[], token: string): Promise<number> {
    const [word, removed] = await this.scripts.run('remove', pool, [
      token,
      IMPORT_LOCK_TTL_MS,
      '0',
      HISTORY_MAX,
      ...ids,
    ]);
    if (word === 'LOCK_LOST') throw new ImportRunningError(pool);
    return Number(removed);
  }
}

async function check(
  sources: readonly MemberSource[],
  read: (source: MemberSource) => Iterable<ListEntry>,
): Promise<CheckedList> {
  const list: CheckedList = { members: new Map(), duplicates: 0, rejectedTotal: 0, rejected: [] };
  let entries = 0;
  for (const source of sources) {
    for (const entry of read(source)) {
      sort(entry, list);
      if (++entries % ENTRIES_A_TURN === 0) await nextTurn();
    }
  }
  return list;
}

function sort(entry: ListEntry, list: CheckedList): void {
  if ('reason' in entry) {
    list.rejectedTotal++;
    if (list.rejected.length < MAX_REJECTED) list.rejected.push(entry);
  } else if (list.members.has(entry.member.id)) {
    list.duplicates++;
  } else {
    list.members.set(entry.member.id, entry.member);
  }
}

/** A member as lua/pool/import.lua takes it. */
function toArguments({ id, value, labels, weight, capacity }: MemberInput): (string | number)[] {
  const valueArgument = value === undefined ? '' : value === id ? '=' : JSON.stringify(value);
  return [id, valueArgument, labels ? writeLabels(labels) : '', weight ?? '', capacityArgument(capacity)];
}

import { RECORD_LINES, readLabels, readOffset, readValue } from '../member.record.js';
import { PoolOutdatedError } from '../pool.outdated.error.js';
import type { BatchResult, NothingReason, Selection, SelectionResult } from '../selection.types.js';
import type { PoolConfig } from './selection.strategy.js';

/** '' and lines, or one word that says why there are none. */
type Reply = readonly [word: string, lines?: string];

/** Id, count, and the record. */
const LINES_PER_PICK = 2 + RECORD_LINES;
const keysOf = new WeakMap<PoolConfig, string[]>();

/** The keys that the scripts of the strategies which pick take, in their order. */
export function pickKeys({ keys, indexKeys }: PoolConfig): string[] {
  return [...indexKeys, keys.members, keys.assigned, keys.views];
}

/** The keys that lua/counted/take.lua takes, in their order. */
export function countedKeys(pool: PoolConfig): string[] {
  let keys = keysOf.get(pool);
  if (!keys) {
    const { members, assigned, settings, eligible, withdrawn, views } = pool.keys;
    keys = [...pool.indexKeys, members, assigned, settings, eligible, withdrawn, views];
    keysOf.set(pool, keys);
  }
  return keys;
}

/**
 * Reads what those scripts answer for one pick.
 *
 * @throws PoolOutdatedError when the word is STALE
 */
export function readPick(pool: PoolConfig, reply: Reply): SelectionResult {
  const { selections, reason } = readPicks(pool, reply);
  return { selection: selections[0] ?? null, reason, retryAfterMs: null };
}

/** The same for a batch. */
export function readPicks(pool: PoolConfig, [word, text = '']: Reply): BatchResult {
  if (word !== '') return { selections: [], reason: reasonOf(pool, word), retryAfterMs: null };
  const lines = text.split('\n');
  const selections: Selection[] = [];
  for (let at = 0; at < lines.length; at += LINES_PER_PICK) selections.push(readSelection(lines, at));
  return { selections, reason: null, retryAfterMs: null };
}

function reasonOf(pool: PoolConfig, word: string): NothingReason {
  if (word === 'STALE') throw new PoolOutdatedError(pool.name);
  return word as NothingReason;
}

/** The member's count in the index is ahead of its selections by the record's offset. */
function readSelection(lines: readonly string[], at: number): Selection {
  const id = lines[at] as string;
  return {
    member: { id, value: readValue(id, lines[at + 3] as string), labels: readLabels(lines[at + 4] as string) },
    assigned: Number(lines[at + 1]) - readOffset(lines[at + 2] as string),
    lease: null,
  };
}

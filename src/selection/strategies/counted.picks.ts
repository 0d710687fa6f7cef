import { readRecord } from '../member.record.js';
import { PoolOutdatedError } from '../pool.outdated.error.js';
import type { BatchResult, NothingReason, Selection } from '../selection.types.js';
import type { PoolConfig } from './selection.strategy.js';

const FIELDS_PER_PICK = 3;

/** The keys that the scripts which count a pick take, in their order. */
export function countedKeys(pool: PoolConfig): string[] {
  const { members, assigned, settings, eligible, withdrawn } = pool.keys;
  return [...pool.indexKeys, members, assigned, settings, eligible, withdrawn];
}

/**
 * Reads what those scripts answer: '' and the picks, or one word that says why there are none.
 *
 * @throws PoolOutdatedError when the word is STALE
 */
export function readPicks(pool: PoolConfig, reply: unknown): BatchResult {
  const [word, ...fields] = reply as [string, ...(string | number)[]];
  if (word === 'STALE') throw new PoolOutdatedError(pool.name);
  if (word !== '') return { selections: [], reason: word as NothingReason, retryAfterMs: null };
  const selections: Selection[] = [];
  for (let at = 0; at < fields.length; at += FIELDS_PER_PICK) {
    selections.push(toSelection(fields[at] as string, fields[at + 1] as number, fields[at + 2] as string));
  }
  return { selections, reason: null, retryAfterMs: null };
}

/** @param count the member's count in the index, which is ahead of its selections by the record's offset */
function toSelection(id: string, count: number, record: string): Selection {
  const { value, labels, offset } = readRecord(id, record);
  return { member: { id, value, labels }, assigned: count - offset, lease: null };
}

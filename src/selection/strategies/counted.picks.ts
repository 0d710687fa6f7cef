import { readLabels, readOffset, readValue } from '../member.record.js';
import { PoolOutdatedError } from '../pool.outdated.error.js';
import type { BatchResult, NothingReason, Selection, SelectionResult } from '../selection.types.js';
import type { PoolConfig } from './selection.strategy.js';

type Reply = readonly [word: string, ...fields: (string | number)[]];

const FIELDS_PER_PICK = 3;
const keysOf = new WeakMap<PoolConfig, string[]>();

/** The keys that the scripts which count a pick take, in their order. */
export function countedKeys(pool: PoolConfig): string[] {
  let keys = keysOf.get(pool);
  if (!keys) {
    const { members, assigned, settings, eligible, withdrawn } = pool.keys;
    keys = [...pool.indexKeys, members, assigned, settings, eligible, withdrawn];
    keysOf.set(pool, keys);
  }
  return keys;
}

/**
 * Reads what those scripts answer for one pick: '' and the pick, or one word that says why there is none.
 *
 * @throws PoolOutdatedError when the word is STALE
 */
export function readPick(pool: PoolConfig, reply: Reply): SelectionResult {
  if (reply[0] !== '') return { selection: null, reason: reasonOf(pool, reply[0]), retryAfterMs: null };
  return { selection: readSelection(reply, 1), reason: null, retryAfterMs: null };
}

/** The same for a batch. */
export function readPicks(pool: PoolConfig, reply: Reply): BatchResult {
  if (reply[0] !== '') return { selections: [], reason: reasonOf(pool, reply[0]), retryAfterMs: null };
  const selections: Selection[] = [];
  for (let at = 1; at < reply.length; at += FIELDS_PER_PICK) selections.push(readSelection(reply, at));
  return { selections, reason: null, retryAfterMs: null };
}

function reasonOf(pool: PoolConfig, word: string): NothingReason {
  if (word === 'STALE') throw new PoolOutdatedError(pool.name);
  return word as NothingReason;
}

/** The member's count in the index is ahead of its selections by the record's offset. */
function readSelection(reply: Reply, at: number): Selection {
  const id = reply[at] as string;
  const record = reply[at + 2] as string;
  return {
    member: { id, value: readValue(id, record), labels: readLabels(record) },
    assigned: (reply[at + 1] as number) - readOffset(record),
    lease: null,
  };
}

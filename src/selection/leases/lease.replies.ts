import { ValidationFailedError } from '../../errors/domain.errors.js';
import { RECORD_LINES, readLabels, readValue } from '../member.record.js';
import type { Selection } from '../selection.types.js';
import type { Extended, Settlement } from './lease.lifecycle.js';
import { isoTime } from './iso.time.js';
import { leaseIdOf, readLeaseName } from './lease.name.js';
import type { LeaseEnding } from './lease.types.js';

/** What the scripts of `lua/least-concurrency` answer: a word, '' when they did their work, and what goes with it. */
export type Reply = readonly [word: string, ...rest: (string | number)[]];

export type AcquisitionResult =
  | { word: 'LENT'; selections: Selection[]; shortage: Shortage | null }
  | { word: 'WAITING'; waiter: string; ticket: string }
  | Shortage
  | { word: 'STALE' }
  | { word: 'REUSED'; endedAs?: LeaseEnding };

/** Why there was no more to lend; with MORE there are more members to look at, by another call. */
export interface Shortage {
  word: 'AT_CAPACITY' | 'NONE' | 'NO_MATCH' | 'MORE';
  retryAfterMs: number | null;
}

/** What has become of a waiter. */
export type Told = Selection | 'STILL' | 'LOST';

const ENDINGS: Readonly<Record<string, LeaseEnding>> = { c: 'completed', a: 'abandoned', e: 'expired', f: 'forced' };
/** Lease, selections of its member, and the member's record. */
const LINES_PER_LEASE = 2 + RECORD_LINES;
const FIRST_WAITER = 2;
const FIELDS_PER_WAITER = 5;

export function readAcquisition(reply: Reply): AcquisitionResult {
  const [word, first] = reply;
  switch (word) {
    case '':
      return readLent(reply);
    case 'WAITING':
      return { word, waiter: String(first), ticket: String(reply[2]) };
    case 'AT_CAPACITY':
    case 'NONE':
    case 'NO_MATCH':
      return shortageOf(word, first as number);
    case 'MORE':
      return { word, retryAfterMs: null };
    case 'REUSED': {
      const endedAs = ENDINGS[String(first)];
      return endedAs ? { word, endedAs } : { word };
    }
    default:
      return { word: 'STALE' };
  }
}

function readLent(reply: Reply): AcquisitionResult {
  const [, nowMs, expiresMs, why, retryAfterMs, text] = reply as [string, number, number, string, number, string];
  const shortage = why === '' ? null : shortageOf(why as Shortage['word'], retryAfterMs);
  return { word: 'LENT', selections: readSelections(text, nowMs, expiresMs), shortage };
}

function readSelections(text: string, nowMs: number, expiresMs: number): Selection[] {
  const lines = text.split('\n');
  const time = { ttlMs: expiresMs - nowMs, expiresAt: isoTime(expiresMs) };
  const selections: Selection[] = [];
  for (let at = 0; at < lines.length; at += LINES_PER_LEASE) selections.push(readSelection(lines, at, time));
  return selections;
}

function shortageOf(word: Shortage['word'], retryAfterMs: number): Shortage {
  return { word, retryAfterMs: retryAfterMs < 0 ? null : retryAfterMs };
}

/** What the n-th of the waiters is told. */
export function readTold(reply: Reply, n: number): Told {
  const at = FIRST_WAITER + n * FIELDS_PER_WAITER;
  if (reply[at] !== 'LEASE') return reply[at] === 'STILL' ? 'STILL' : 'LOST';
  const [lease, expiresMs, assigned, record] = reply.slice(at + 1, at + FIELDS_PER_WAITER);
  const [selection] = readSelections([lease, assigned, record].join('\n'), Number(reply[1]), Number(expiresMs));
  return selection as Selection;
}

function readSelection(lines: readonly string[], at: number, time: { ttlMs: number; expiresAt: string }): Selection {
  const name = readLeaseName(lines[at] as string);
  const { memberId } = name;
  return {
    member: {
      id: memberId,
      value: readValue(memberId, lines[at + 3] as string),
      labels: readLabels(lines[at + 4] as string),
    },
    assigned: Number(lines[at + 1]),
    lease: { id: leaseIdOf(name), fence: name.fence, ...time },
  };
}

/** @param letter of a lease that was to end: `.` for one that did */
export function readSettlement(letter: string): Settlement {
  return letter === '.' ? 'ended-now' : readEnding(letter);
}

/** @param found when the lease expires, or the letter that says why it was not extended */
export function readExtended(found: string | number): Extended {
  return typeof found === 'number' ? { expiresMs: found } : readEnding(found);
}

function readEnding(letter: string): Exclude<Settlement, 'ended-now'> {
  if (letter === 's') return 'stale-fence';
  const endedAs = ENDINGS[letter];
  return endedAs ? { endedAs } : 'unknown';
}

/** @throws ValidationFailedError when the script found the TTL above the pool's longest */
export function requireTtl([word, most]: Reply): void {
  if (word !== 'TTL_TOO_LONG') return;
  const message = `must be at most lease.maxTtlMs of the pool, which is ${String(most)}`;
  throw new ValidationFailedError(`"ttlMs" ${message}.`, [{ path: 'ttlMs', message }]);
}

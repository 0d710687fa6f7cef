import { createHash } from 'node:crypto';
import type { ListFormat, ListOptions } from '../../../src/pool/lists/member.list.js';
import { readList } from '../../../src/pool/lists/read.list.js';

/** Stands in for the HMAC: 8 hex digits that depend on the password only. */
export const tagOf = (password: string) => createHash('sha256').update(password).digest('hex').slice(0, 8);

export const OPTIONS: ListOptions = { defaultScheme: 'http', passwordTag: tagOf };

/** Every entry of a list. */
export function read(format: ListFormat, body: Uint8Array | string, options: Partial<ListOptions> = {}) {
  return [...readList(format, body, { ...OPTIONS, ...options })];
}

/** The ids of the members of a list; a rejected entry shows as its line number and reason. */
export function idsOf(format: ListFormat, body: Uint8Array | string): string[] {
  return read(format, body).map((entry) => ('member' in entry ? entry.member.id : `${entry.line}: ${entry.reason}`));
}

/** The member of a list of one. */
export function memberOf(format: ListFormat, body: Uint8Array | string, options: Partial<ListOptions> = {}) {
  const entries = read(format, body, options);
  const [entry] = entries;
  if (entries.length !== 1 || !entry || !('member' in entry))
    throw new Error(`no single member: ${JSON.stringify(entries)}`);
  return entry.member;
}

/** Why the entry of a list of one was rejected. */
export function reasonOf(format: ListFormat, body: Uint8Array | string): string {
  const entries = read(format, body);
  const [entry] = entries;
  if (entries.length !== 1 || !entry || !('reason' in entry))
    throw new Error(`not rejected: ${JSON.stringify(entries)}`);
  return entry.reason;
}

import type { z } from 'zod';
import { type MemberEntry, memberEntrySchema } from '../member.schema.js';
import { readAddress } from './address.line.js';
import { parseAddress } from './address.parser.js';
import type { ListOptions, ReadMember } from './member.list.js';

const MAX_KEY_SHOWN = 64;
const UNDECODABLE = '\uFFFD';
const URL_WITH_PASSWORD = /^[a-z][a-z0-9+.-]*:\/\/[^@/]*:[^@/]+@/i;

/** The member of an object `{"id"?, "value"?, "labels"?, "weight"?, "capacity"?}`; an absent field keeps what the member has. */
export function readMemberObject(input: unknown, options: ListOptions): ReadMember {
  const result = memberEntrySchema.safeParse(input);
  if (!result.success) return { reason: reasonOf(result.error) };
  const { id, ...rest } = result.data;
  if (id?.includes(UNDECODABLE)) return { reason: '"id" holds bytes that are not UTF-8' };
  if (rest.value?.includes(UNDECODABLE)) return { reason: '"value" holds bytes that are not UTF-8' };
  if (id === undefined) return readProxyValue(rest, options);
  if (holdsPassword(id)) return { reason: '"id" holds a password; give the address as "value", without an id' };
  return { member: { id, ...rest } };
}

/** A value alone names its member only where it is a proxy. */
function readProxyValue({ value = '', ...rest }: MemberEntry, options: ListOptions): ReadMember {
  const read = readAddress(value, options);
  if ('reason' in read) return { reason: `"value" stands without an id and is no proxy address: ${read.reason}` };
  const labels = { ...read.member.labels, ...rest.labels };
  return { member: { ...read.member, ...rest, ...(Object.keys(labels).length > 0 && { labels }) } };
}

/** Ids are public, so that an address with a password is none. */
function holdsPassword(id: string): boolean {
  if (!id.includes('@')) return false;
  if (URL_WITH_PASSWORD.test(id)) return true;
  const parsed = parseAddress(id, 'http');
  return 'address' in parsed && parsed.address.password !== undefined;
}

/** What is wrong first, naming the field. */
function reasonOf({ issues }: z.ZodError): string {
  const [issue] = issues;
  if (issue?.code === 'unrecognized_keys')
    return `"${shown([...issue.path, issue.keys[0] ?? ''])}" is not a known field`;
  if (!issue || issue.path.length === 0) return issue?.message ?? 'is not valid';
  return `"${shown(issue.path)}" ${issue.message}`;
}

function shown(path: readonly PropertyKey[]): string {
  const text = path.map(String).join('.');
  return text.length > MAX_KEY_SHOWN ? `${text.slice(0, MAX_KEY_SHOWN)}…` : text;
}

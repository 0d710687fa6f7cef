import type { z } from 'zod';
import type { MemberInput } from '../member.js';
import { type MemberEntry, memberEntrySchema } from '../member.schema.js';
import { readAddress } from './address.line.js';
import type { ListOptions, ReadMember } from './member.list.js';

const MAX_KEY_SHOWN = 64;
const UNDECODABLE = '\uFFFD';

/** The member of an object `{"id"?, "value"?, "labels"?, "weight"?, "capacity"?}`. */
export function readMemberObject(input: unknown, options: ListOptions): ReadMember {
  const result = memberEntrySchema.safeParse(input);
  if (!result.success) return { reason: reasonOf(result.error) };
  const { id, ...rest } = result.data;
  if (id?.includes(UNDECODABLE)) return { reason: '"id" holds bytes that are not UTF-8' };
  if (rest.value?.includes(UNDECODABLE)) return { reason: '"value" holds bytes that are not UTF-8' };
  return id === undefined ? readProxyValue(rest, options) : { member: { id, ...present(rest) } };
}

/** A value alone names its member only where it is a proxy. */
function readProxyValue({ value = '', ...rest }: MemberEntry, options: ListOptions): ReadMember {
  const read = readAddress(value, options);
  if ('reason' in read) return { reason: `"value" stands without an id and is no proxy address: ${read.reason}` };
  const { labels, ...fields } = present(rest);
  const merged = { ...read.member.labels, ...labels };
  return { member: { ...read.member, ...fields, ...(Object.keys(merged).length > 0 && { labels: merged }) } };
}

/** The fields that were given: one that is absent keeps what the member has. */
function present(entry: MemberEntry): Partial<MemberInput> {
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== undefined));
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

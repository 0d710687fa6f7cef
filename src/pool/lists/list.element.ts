import { readAddressLine } from './address.line.js';
import type { ListOptions, ReadMember } from './member.list.js';
import { readMemberObject } from './member.object.js';
import { fieldsOf, namesHost } from './proxy.fields.js';
import { readProxyFields } from './proxy.object.js';
import { StrictJsonError } from './strict.json.error.js';
import { parseStrictJson } from './strict.json.js';

/** The member of an element of a list: an address, a proxy with fields of its own, or an object with `id` or `value`. */
export function readElement(element: unknown, options: ListOptions): ReadMember {
  if (typeof element === 'string') return readAddressLine(element, options);
  if (typeof element !== 'object' || element === null || Array.isArray(element)) {
    return { reason: 'neither an object nor an address' };
  }
  const fields = fieldsOf(element);
  // Lists of proxies often number them, so that an id beside a host is not ours.
  const isMember = !namesHost(fields) && (fields.has('id') || fields.has('value'));
  return isMember ? readMemberObject(element, options) : readProxyFields(fields, options);
}

/** The member of a line that holds one JSON object. */
export function readJsonLine(line: string, options: ListOptions): ReadMember {
  try {
    return readElement(parseStrictJson(line), options);
  } catch (error) {
    if (error instanceof StrictJsonError) return { reason: `${error.problem} at column ${error.column}` };
    throw error;
  }
}

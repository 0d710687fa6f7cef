import { readAddressLine } from './address.line.js';
import type { ListOptions, ReadMember } from './member.list.js';
import { readMemberObject } from './member.object.js';
import { fieldsOf } from './proxy.fields.js';
import { readProxyFields } from './proxy.object.js';
import { StrictJsonError } from './strict.json.error.js';
import { parseStrictJson } from './strict.json.js';

/** The member of an element of a list: an address, an object with `id` or `value`, or a proxy with fields of its own. */
export function readElement(element: unknown, options: ListOptions): ReadMember {
  if (typeof element === 'string') return readAddressLine(element, options);
  if (typeof element !== 'object' || element === null || Array.isArray(element)) {
    return { reason: 'neither an object nor an address' };
  }
  if ('id' in element || 'value' in element) return readMemberObject(element, options);
  return readProxyFields(fieldsOf(element), options);
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

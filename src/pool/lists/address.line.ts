import type { Labels } from '../member.js';
import { MAX_ADDRESS_LENGTH, parseAddress } from './address.parser.js';
import type { ListOptions, ReadMember } from './member.list.js';
import { proxyMember } from './proxy.address.js';

/** The member of a line that begins with an address; further columns are ignored. */
export function readAddressLine(line: string, options: ListOptions): ReadMember {
  if (line.length > MAX_ADDRESS_LENGTH) return { reason: `longer than ${MAX_ADDRESS_LENGTH} characters` };
  return readAddress(firstColumn(line.trim()), options);
}

/** The member of a text that is an address and nothing else. */
export function readAddress(text: string, options: ListOptions): ReadMember {
  const parsed = parseAddress(text, options.defaultScheme);
  if ('reason' in parsed) return parsed;
  const labels: Labels = parsed.note === undefined ? {} : { note: parsed.note };
  return proxyMember(parsed.address, labels, options.passwordTag);
}

/** What stands between quotes; otherwise what stands before white space, a comma or a bar (` => ` begins with a space). */
function firstColumn(line: string): string {
  const quote = line.startsWith('"') || line.startsWith("'") ? line.charAt(0) : '';
  const closing = quote === '' ? -1 : line.indexOf(quote, 1);
  if (closing > 0) return line.slice(1, closing).trim();
  return (
    line
      .slice(quote.length)
      .trimStart()
      .split(/[\s,|]/, 1)[0] ?? ''
  );
}

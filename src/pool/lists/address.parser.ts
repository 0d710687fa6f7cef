import { isIPv4, isIPv6 } from 'node:net';
import { PROXY_SCHEMES, type ProxyScheme, type Rejected } from './member.list.js';
import { type ProxyAddress, UNREADABLE, schemeOf, withCredentials } from './proxy.address.js';
import { beginsWithIp, readHost, readPort } from './proxy.host.js';

/** Longest address that is read, in characters. */
export const MAX_ADDRESS_LENGTH = 8_192;

/** An address, and what stood after it where a credential pair would stand. */
export interface ParsedAddress {
  address: ProxyAddress;
  note?: string;
}

/** How the parts after the scheme are to be read. */
interface Form {
  scheme: ProxyScheme;
  /** Written with `scheme://`: credentials are percent-encoded, and a path is ignored. */
  url: boolean;
}

const SCHEME = /^([a-z][a-z0-9+.-]*):\/\//i;
const NO_ADDRESS = 'no host:port found';
const UNKNOWN_SCHEME = `the scheme is none of ${PROXY_SCHEMES.join(', ')}`;

/**
 * Reads `host:port`, `scheme://host:port`, `scheme://user:pass@host:port`, `user:pass@host:port` or `host:port:user:pass`.
 * Credentials end at the last `@`, and the user at the first `:`; an address that begins with an IP address has its host first.
 */
export function parseAddress(text: string, defaultScheme: ProxyScheme): ParsedAddress | Rejected {
  if (text.length > MAX_ADDRESS_LENGTH) return { reason: `longer than ${MAX_ADDRESS_LENGTH} characters` };
  if (UNREADABLE.test(text)) return { reason: 'holds a control character or bytes that are not UTF-8' };
  const [prefix = '', word = ''] = SCHEME.exec(text) ?? [];
  const scheme = prefix === '' ? defaultScheme : schemeOf(word);
  if (!scheme) return { reason: UNKNOWN_SCHEME };
  return readParts(text.slice(prefix.length), { scheme, url: prefix !== '' });
}

function readParts(text: string, form: Form): ParsedAddress | Rejected {
  const at = text.lastIndexOf('@');
  if (at < 0 || (!form.url && beginsWithIp(text))) return readHostFirst(text, form);
  const tail = text.slice(at + 1);
  if (!tail.includes(':')) {
    const hostFirst = readHostFirst(text, form);
    if ('address' in hostFirst && hostFirst.address.password !== undefined) return hostFirst;
  }
  return readUserFirst(text.slice(0, at), tail, form);
}

/** `user:pass@host:port`, or a user alone. */
function readUserFirst(credentials: string, hostAndPort: string, form: Form): ParsedAddress | Rejected {
  const found = readHostAndPort(hostAndPort, form);
  if ('reason' in found) return found;
  if (found.rest.startsWith(':')) return { reason: 'something follows the port' };
  const [username, password] = splitOnce(credentials);
  if (username === '') return { reason: 'no user name before the @' };
  return withPair(found.address, username, password, form);
}

/** `host:port`, `host:port:user:pass`, or `host:port:note`. */
function readHostFirst(text: string, form: Form): ParsedAddress | Rejected {
  const found = readHostAndPort(text, form);
  if ('reason' in found) return found;
  const { address, rest } = found;
  if (!rest.startsWith(':')) return { address };
  const [first, second = ''] = splitOnce(rest.slice(1));
  if (second === '') return first === '' ? { address } : { address, note: first };
  if (isIPv4(first)) return { reason: 'user:pass:host:port is not read; write user:pass@host:port' };
  return withPair(address, first, second, form);
}

function withPair(
  address: ProxyAddress,
  username: string,
  password: string | undefined,
  form: Form,
): ParsedAddress | Rejected {
  const decode = form.url ? decodePercent : (text: string) => text;
  const complete = withCredentials(address, decode(username), password === undefined ? undefined : decode(password));
  return 'reason' in complete ? complete : { address: complete };
}

/** The host and the port at the beginning, and the rest from the `:`, `/`, `?` or `#` after them. */
function readHostAndPort(text: string, form: Form): { address: ProxyAddress; rest: string } | Rejected {
  const colon = text.indexOf(':', text.startsWith('[') ? text.indexOf(']') : 0);
  if (colon < 0) return { reason: NO_ADDRESS };
  const after = text.slice(colon + 1);
  const end = after.search(form.url ? /[:/?#]/ : /:/);
  const portText = end < 0 ? after : after.slice(0, end);
  if (portText === '' && !isIPv6(text)) return { reason: NO_ADDRESS };
  if (end >= 0 && isIPv6(text)) return { reason: 'an IPv6 address must stand in brackets, with a port after them' };
  const host = readHost(text.slice(0, colon));
  if (typeof host !== 'string') return host;
  const port = readPort(portText);
  if (typeof port !== 'number') return port;
  return { address: { scheme: form.scheme, host, port }, rest: end < 0 ? '' : after.slice(end) };
}

/** The parts before and after the first colon. */
function splitOnce(text: string): [string, string | undefined] {
  const colon = text.indexOf(':');
  return colon < 0 ? [text, undefined] : [text.slice(0, colon), text.slice(colon + 1)];
}

/** Decodes percent escapes; those that are malformed, or no UTF-8, are taken literally. */
function decodePercent(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes;
    }
  });
}

import { MEMBER_LIMITS } from '../member.schema.js';
import type { Labels } from '../member.js';
import { PROXY_SCHEMES, type ProxyScheme, type ReadMember, type Rejected } from './member.list.js';

/** Where a proxy listens, and who may use it. */
export interface ProxyAddress {
  scheme: ProxyScheme;
  /** Canonical: lower case, IPv6 in brackets. */
  host: string;
  /** 1 to 65535. */
  port: number;
  username?: string;
  /** Secret. Only together with a user name. */
  password?: string;
}

/** Control characters, half characters, and what a decoder leaves of bytes that are not UTF-8. */
export const UNREADABLE = /[\p{Cc}\p{Cs}\uFFFD]/u;

/** The scheme that a list means by a word: any case, and `socks` for socks5. */
export function schemeOf(word: string): ProxyScheme | undefined {
  const name = word.toLowerCase();
  return name === 'socks' ? 'socks5' : PROXY_SCHEMES.find((scheme) => scheme === name);
}

/** Adds a user name and a password, where there are any, to an address. */
export function withCredentials(
  address: ProxyAddress,
  username: string | undefined,
  password: string | undefined,
): ProxyAddress | Rejected {
  const secret = password === '' ? undefined : password;
  if (UNREADABLE.test(username ?? '') || UNREADABLE.test(secret ?? '')) {
    return { reason: 'the user or password holds a control character or bytes that are not UTF-8' };
  }
  if (username === undefined || username === '') {
    return secret === undefined ? address : { reason: 'a password without a user name' };
  }
  return { ...address, username, ...(secret !== undefined && { password: secret }) };
}

/** The public name of a proxy, `scheme://[user@]host:port`; a password shows only as `#` and its tag. */
export function proxyId(address: ProxyAddress, passwordTag: (password: string) => string): string {
  const { scheme, host, port, username, password } = address;
  const user = username === undefined ? '' : `${encodeURIComponent(username)}@`;
  const tag = password === undefined ? '' : `#${passwordTag(password)}`;
  return `${scheme}://${user}${host}:${port}${tag}`;
}

/** What a worker connects with, `scheme://[user[:pass]@]host:port`; `new URL()` reads it. Secret if there is a password. */
export function proxyValue({ scheme, host, port, username, password }: ProxyAddress): string {
  const secret = password === undefined ? '' : `:${encodeURIComponent(password)}`;
  const credentials = username === undefined ? '' : `${encodeURIComponent(username)}${secret}@`;
  return `${scheme}://${credentials}${host}:${port}`;
}

/** The member that a proxy makes. */
export function proxyMember(
  address: ProxyAddress,
  labels: Labels,
  passwordTag: (password: string) => string,
): ReadMember {
  const id = proxyId(address, passwordTag);
  const value = proxyValue(address);
  if (id.length > MEMBER_LIMITS.idLength)
    return { reason: `the id is longer than ${MEMBER_LIMITS.idLength} characters` };
  if (value.length > MEMBER_LIMITS.valueLength) {
    return { reason: `the value is longer than ${MEMBER_LIMITS.valueLength} characters` };
  }
  for (const [name, label] of Object.entries(labels)) {
    if (String(label).length > MEMBER_LIMITS.labelValueLength) {
      return { reason: `the label "${name}" is longer than ${MEMBER_LIMITS.labelValueLength} characters` };
    }
  }
  return { member: { id, value, ...(Object.keys(labels).length > 0 && { labels }) } };
}

import type { MemberInput } from '../member.js';

export const LIST_FORMATS = ['json', 'text', 'ndjson', 'csv'] as const;
export type ListFormat = (typeof LIST_FORMATS)[number];

export const PROXY_SCHEMES = ['http', 'https', 'socks4', 'socks4a', 'socks5', 'socks5h'] as const;
export type ProxyScheme = (typeof PROXY_SCHEMES)[number];

/** Why an entry is no member; never shows what stood there, which may be secret. */
export interface Rejected {
  reason: string;
}

/** What became of an entry. */
export type ReadMember = { member: MemberInput } | Rejected;

/** One entry of a list: a member, or why there is none. `line` counts from 1; in JSON it is the position in the list. */
export type ListEntry = { line: number; member: MemberInput } | { line: number; reason: string };

export interface ListOptions {
  /** The scheme of an entry that names none. */
  defaultScheme: ProxyScheme;
  /** Turns a password into the 8 hex digits that tell apart members which differ only in it. */
  passwordTag: (password: string) => string;
}

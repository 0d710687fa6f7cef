import { SocketAddress, isIP, isIPv4 } from 'node:net';

/** What may be part of an address, or of a word that is none. */
const WORDS = /[\w.:]+/g;
/** The longest IPv6 address has 45 characters; an address may have its port after it, or a label before it. */
const MAX_WORD_LENGTH = 64;
const IPV4_WITHIN = /(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.])/;
const MAPPED = /^::ffff:(?=\d+\.)/;

/**
 * The address that a body names, in canonical form, or null.
 *
 * @param field the field of the JSON object that the body is; without it, the first IP address of the body counts
 */
export function exitAddressIn(body: string, field?: string): string | null {
  const text = field === undefined ? body : fieldOf(body, field);
  for (const [word] of text.matchAll(WORDS)) {
    const address = word.length <= MAX_WORD_LENGTH ? addressIn(word) : undefined;
    if (address !== undefined) return canonicalAddress(address);
  }
  return null;
}

/** One form for each address: IPv6 as RFC 5952 has it, an IPv4 address never within an IPv6 one. */
export function canonicalAddress(address: string): string {
  const family = isIPv4(address) ? 'ipv4' : 'ipv6';
  return new SocketAddress({ address, family }).address.replace(MAPPED, '');
}

function fieldOf(body: string, field: string): string {
  try {
    const object: unknown = JSON.parse(body);
    const value = Object.entries(Object(object) as Record<string, unknown>).find(([name]) => name === field)?.[1];
    return typeof value === 'string' ? value : '';
  } catch {
    return '';
  }
}

function addressIn(word: string): string | undefined {
  const bare = word.replace(/[.:]+$/, '');
  if (isIP(bare) !== 0) return bare;
  const [within] = IPV4_WITHIN.exec(word) ?? [];
  return within !== undefined && isIPv4(within) ? within : undefined;
}

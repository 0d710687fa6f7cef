import { isIPv4, isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';
import type { Rejected } from './member.list.js';

const MAX_HOST_LENGTH = 253;
const MAX_PORT = 65_535;
const HOST_LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/i;
/** URL parsers take a host that ends so for an IPv4 address (WHATWG URL, "ends in a number"). */
const ENDS_IN_NUMBER = /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/i;

/** The host in its one canonical form: lower case, IPv6 in brackets and as short as RFC 5952 writes it. */
export function readHost(text: string): string | Rejected {
  if (isIPv4(text)) return text;
  if (text.startsWith('[')) return readBracketed(text);
  if (text === '') return { reason: 'no host before the port' };
  if (text.length > MAX_HOST_LENGTH) return { reason: `the host name is longer than ${MAX_HOST_LENGTH} characters` };
  if (ENDS_IN_NUMBER.test(text)) return { reason: 'the host is not a valid IPv4 address' };
  if (!text.split('.').every((label) => HOST_LABEL.test(label))) return { reason: 'the host is not a valid host name' };
  const host = text.toLowerCase();
  if (host.includes('xn--') && domainToASCII(host) !== host) return { reason: 'the host is not a valid host name' };
  return host;
}

/** @param text an IPv6 address between brackets */
function readBracketed(text: string): string | Rejected {
  const address = text.slice(1, -1);
  if (!text.endsWith(']') || address.includes('%') || !isIPv6(address)) {
    return { reason: 'what stands in brackets is not a valid IPv6 address' };
  }
  return new URL(`http://${text}`).hostname;
}

/** A decimal port from 1 to 65535. */
export function readPort(text: string): number | Rejected {
  if (!/^\d+$/.test(text)) return { reason: 'the port is not a decimal number' };
  const port = Number(text);
  return port >= 1 && port <= MAX_PORT ? port : { reason: `the port is not between 1 and ${MAX_PORT}` };
}

/** Whether an address begins with an IP address, so that no user name can come first. */
export function beginsWithIp(text: string): boolean {
  return text.startsWith('[') || isIPv4(text.split(':', 1)[0] ?? '');
}

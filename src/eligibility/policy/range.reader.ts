import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Rejected } from '../../pool/lists/member.list.js';
import { readHost } from '../../pool/lists/proxy.host.js';
import { type AddressRange, READY_LISTS, subnet } from './address.range.js';

const PARTS = /^([^/]*)(?:\/(0|[1-9]\d{0,2}))?$/;
const RANGE_RULE = 'must be an IP address, a range such as 192.0.2.0/24 or 2001:db8::/32, "private" or "special"';
/** Where the IPv4 address begins in an IPv4-mapped one; the bit before is set, so that no shorter prefix gets as far. */
const MAPPED_BITS = 96;

/** Reads one address, a CIDR range, or the name of a ready list; a reason says what would be right. */
export function readRange(text: string): AddressRange | Rejected {
  const ready = READY_LISTS.get(text);
  if (ready) return ready;
  const [, written = '', prefix] = PARTS.exec(text) ?? [];
  const family = isIP(written);
  const host = readHost(family === 6 ? `[${written}]` : written);
  if (family === 0 || typeof host !== 'string') return { reason: RANGE_RULE };
  const most = family === 6 ? 128 : 32;
  const bits = prefix === undefined ? most : Number(prefix);
  if (bits > most) return { reason: `must have a prefix from 0 to ${most}` };
  const address = family === 6 ? host.slice(1, -1) : host;
  const better = family === 6 ? betterIPv6(address, bits) : betterIPv4(address, bits);
  return better === undefined ? subnet(`${address}/${bits}`, text) : { reason: `must be ${better}` };
}

/** What to write for a range that could be meant in two ways. */
function betterIPv4(address: string, bits: number): string | undefined {
  const network = ipaddr.IPv4.networkAddressFromCIDR(`${address}/${bits}`).toString();
  return network === address ? undefined : rangeOrAddress(network, bits, address);
}

function betterIPv6(address: string, bits: number): string | undefined {
  const parsed = ipaddr.IPv6.parse(address);
  const network = ipaddr.IPv6.networkAddressFromCIDR(`${address}/${bits}`);
  if (network.toString() !== parsed.toString()) return rangeOrAddress(network.toString(), bits, address);
  if (!parsed.isIPv4MappedAddress()) return undefined;
  return `${parsed.toIPv4Address().toString()}/${bits - MAPPED_BITS}: an IPv4-mapped address counts as IPv4`;
}

function rangeOrAddress(network: string, bits: number, address: string): string {
  return `${network}/${bits} for the range or ${address} for the one address: bits are set after the prefix`;
}

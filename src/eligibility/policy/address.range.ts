import ipaddr from 'ipaddr.js';
import { IpAddress } from './ip.address.js';

/** A set of addresses that a policy names. */
export interface AddressRange {
  /** As the policy writes it. */
  readonly text: string;
  holds(address: IpAddress): boolean;
}

/** The blocks of the list `private`, by the names that ipaddr.js has for them. */
const PRIVATE_BLOCKS = new Set(['private', 'uniqueLocal', 'loopback', 'linkLocal', 'carrierGradeNat']);

/** What IPv6 has assigned as global unicast (IANA, "Internet Protocol Version 6 Address Space"). */
const GLOBAL_UNICAST = subnet('2000::/3');

/** The ranges that have a name. */
export const READY_LISTS: ReadonlyMap<string, AddressRange> = new Map([
  ['private', { text: 'private', holds: (address) => PRIVATE_BLOCKS.has(address.block) }],
  ['special', { text: 'special', holds: isSpecial }],
]);

/** @param cidr an address in its canonical form and a prefix, which nobody needs to check */
export function subnet(cidr: string, text = cidr): AddressRange {
  const [first, bits] = ipaddr.parseCIDR(cidr);
  const { words: network } = new IpAddress(first);
  const mask = network.map((_, at) => maskWord(bits - 32 * at));
  return { text, holds: ({ words }) => words.length === network.length && sameUnder(mask, words, network) };
}

/** A plain loop: this is asked for every address and every range. */
function sameUnder(mask: readonly number[], one: readonly number[], other: readonly number[]): boolean {
  for (let at = 0; at < mask.length; at++) {
    if ((((one[at] as number) ^ (other[at] as number)) & (mask[at] as number)) !== 0) return false;
  }
  return true;
}

function maskWord(bits: number): number {
  return bits <= 0 ? 0 : bits >= 32 ? -1 : -1 << (32 - bits);
}

/** IPv4-mapped addresses are left out: whoever judges one judges the IPv4 address in it as well. */
function isSpecial(address: IpAddress): boolean {
  if (address.block === 'ipv4Mapped') return false;
  return address.block !== 'unicast' || (address.words.length > 1 && !GLOBAL_UNICAST.holds(address));
}

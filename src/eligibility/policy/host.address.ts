import { type AddressRange, subnet } from './address.range.js';
import { addressOf, type IpAddress, ipv4Of } from './ip.address.js';

/** Where a host that is an IP address leads to. */
export interface HostAddress {
  /** The address itself; of an IPv4-mapped one the IPv4 address, since that is what a connection goes to. */
  readonly own: IpAddress;
  /** Itself, and every IPv4 address that it may be translated or tunnelled to. */
  readonly all: readonly IpAddress[];
}

const MAPPED = subnet('::ffff:0:0/96');

interface Embedding {
  within: AddressRange;
  except?: AddressRange;
  /** The four bytes, counted from 0. */
  at: readonly number[];
  inverted?: true;
}

/** Where IPv6 addresses hold an IPv4 address. */
const EMBEDDINGS: readonly Embedding[] = [
  { within: MAPPED, at: [12, 13, 14, 15] },
  // IPv4-compatible, RFC 4291, section 2.5.5.1; `::` and `::1` are something else
  { within: subnet('::/96'), except: subnet('::/127'), at: [12, 13, 14, 15] },
  // IPv4-translated, RFC 2765
  { within: subnet('::ffff:0:0:0/96'), at: [12, 13, 14, 15] },
  // NAT64, RFC 6052
  { within: subnet('64:ff9b::/96'), at: [12, 13, 14, 15] },
  // NAT64 of a network's own, RFC 8215: nobody else knows which of these lengths of RFC 6052 its prefix has
  { within: subnet('64:ff9b:1::/48'), at: [6, 7, 9, 10] },
  { within: subnet('64:ff9b:1::/48'), at: [7, 9, 10, 11] },
  { within: subnet('64:ff9b:1::/48'), at: [9, 10, 11, 12] },
  { within: subnet('64:ff9b:1::/48'), at: [12, 13, 14, 15] },
  // 6to4, RFC 3056
  { within: subnet('2002::/16'), at: [2, 3, 4, 5] },
  // Teredo, RFC 4380: the server, and the client with its bits inverted
  { within: subnet('2001::/32'), at: [4, 5, 6, 7] },
  { within: subnet('2001::/32'), at: [12, 13, 14, 15], inverted: true },
];

/** What a host leads to, in the form that `readHost` gives it; undefined for a name. */
export function hostAddressOf(host: string): HostAddress | undefined {
  const address = addressOf(host);
  if (!address) return undefined;
  if (address.words.length === 1) return { own: address, all: [address] };
  const embedded = embeddedIn(address);
  const [first = address] = embedded;
  return { own: MAPPED.holds(address) ? first : address, all: [address, ...embedded] };
}

function embeddedIn(address: IpAddress): IpAddress[] {
  return EMBEDDINGS.filter(({ within, except }) => within.holds(address) && !except?.holds(address)).map(
    ({ at, inverted }) => ipv4Of(at.map((place) => address.byteAt(place) ^ (inverted ? 0xff : 0))),
  );
}

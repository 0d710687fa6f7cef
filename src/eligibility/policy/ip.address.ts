import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** An IP address that was parsed once and is compared by its bits. */
export class IpAddress {
  /** The bits, highest first: one 32-bit word for IPv4, four for IPv6. */
  readonly words: readonly number[];
  private knownBlock?: string;

  constructor(private readonly parsed: ipaddr.IPv4 | ipaddr.IPv6) {
    this.words = wordsOf(parsed.toByteArray());
  }

  /** The eight bits at that place, counted from 0. */
  byteAt(place: number): number {
    return ((this.words[place >> 2] ?? 0) >>> (24 - 8 * (place & 3))) & 0xff;
  }

  /** What ipaddr.js calls the special block that the address lies in; `unicast` where it knows of none. */
  get block(): string {
    return (this.knownBlock ??= this.parsed.range());
  }
}

/** The address that a host is, in the form that `readHost` gives it; undefined for a name. */
export function addressOf(host: string): IpAddress | undefined {
  if (host.startsWith('[')) return new IpAddress(ipaddr.IPv6.parse(host.slice(1, -1)));
  return isIPv4(host) ? new IpAddress(ipaddr.IPv4.parse(host)) : undefined;
}

export function ipv4Of(bytes: number[]): IpAddress {
  return new IpAddress(new ipaddr.IPv4(bytes));
}

function wordsOf(bytes: readonly number[]): number[] {
  const words: number[] = [];
  bytes.forEach((byte, place) => {
    words[place >> 2] = ((words[place >> 2] ?? 0) << 8) | byte;
  });
  return words;
}

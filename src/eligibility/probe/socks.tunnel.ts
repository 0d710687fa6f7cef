import { lookup } from 'node:dns/promises';
import { isIPv6, type Socket } from 'node:net';
import { SocksClient } from 'socks';
import type { ProxyAddress } from '../../pool/lists/proxy.address.js';
import type { ProbeFailure } from './member.prober.js';
import { ProbeError, networkError } from './probe.error.js';
import type { Endpoint } from './probe.sockets.js';

/** Longest user name and password in SOCKS5, in bytes (RFC 1929). */
const MAX_CREDENTIAL_BYTES = 255;

/** What the library's messages mean, the first that fits; a reply code that it does not know is `undefined` there. */
const MEANINGS: [message: RegExp, reason: ProbeFailure, detail: string][] = [
  [/no accepted authentication|Authentication failed/, 'authentication', 'The proxy does not take the credentials'],
  [/rejected connection - \(RejectedIdent\)/, 'authentication', 'The proxy does not take the user'],
  [/rejected connection - \(?undefined/, 'protocol', 'The proxy does not speak SOCKS as it should'],
  [/rejected connection - \(?(\w+)/, 'tunnel', 'The proxy made no connection to the target'],
  [/Socket closed|ECONNRESET|EPIPE/, 'closed', 'The proxy closed the connection'],
];

/**
 * What a SOCKS proxy is to connect to. socks4 and socks5 are given an address that is resolved here, IPv4 first; socks4a
 * and socks5h are given the name.
 *
 * @throws ProbeError
 */
export async function socksDestination({ scheme }: ProxyAddress, target: Endpoint): Promise<Endpoint> {
  const version4 = scheme.startsWith('socks4');
  if (version4 && isIPv6(target.host)) {
    throw new ProbeError('unsupported', 'SOCKS4 has no way to name an IPv6 address.');
  }
  if (scheme === 'socks4a' || scheme === 'socks5h') return target;
  try {
    const { address } = await lookup(target.host, { family: version4 ? 4 : 0, order: 'ipv4first' });
    return { host: address, port: target.port };
  } catch (error) {
    throw networkError(error, "Resolving the target's name", 'unresolved');
  }
}

/**
 * Has a SOCKS proxy connect a connection to a destination.
 *
 * @throws ProbeError
 */
export async function openSocksTunnel(
  toProxy: Socket,
  { scheme, host, port, username, password }: ProxyAddress,
  destination: Endpoint,
  timeoutMs: number,
): Promise<void> {
  if ([username, password].some((text = '') => Buffer.byteLength(text) > MAX_CREDENTIAL_BYTES)) {
    throw new ProbeError(
      'unsupported',
      `SOCKS takes user names and passwords of at most ${MAX_CREDENTIAL_BYTES} bytes.`,
    );
  }
  const type = scheme.startsWith('socks4') ? 4 : 5;
  const credentials = {
    ...(username !== undefined && { userId: username }),
    ...(password !== undefined && { password }),
  };
  try {
    await SocksClient.createConnection({
      command: 'connect',
      proxy: { host, port, type, ...credentials },
      destination,
      existing_socket: toProxy,
      // The library does not stop its timer, so that it should not run longer than the probe.
      timeout: timeoutMs,
    });
  } catch (error) {
    throw socksError(error);
  }
}

/** The library's errors hold its options, credentials among them: nothing of them is passed on. */
function socksError(error: unknown): ProbeError {
  const message = error instanceof Error ? error.message : '';
  for (const [pattern, reason, detail] of MEANINGS) {
    const found = pattern.exec(message);
    if (found) return new ProbeError(reason, `${detail}${found[1] === undefined ? '' : ` (${found[1]})`}.`);
  }
  return new ProbeError('protocol', 'The proxy does not speak SOCKS as it should.');
}

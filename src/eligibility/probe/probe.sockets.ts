import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import { networkError } from './probe.error.js';
import { throwIfAborted } from './time.limit.js';

/** Where a socket leads. An IPv6 address stands without brackets. */
export interface Endpoint {
  host: string;
  port: number;
}

/** Whose certificates are believed: those that Node believes, and more in PEM. */
export function trustOf(ca: readonly string[] = []): SecureContext {
  return createSecureContext(ca.length === 0 ? {} : { ca: [...rootCertificates, ...ca] });
}

/** The endpoint of an http or https URL. */
export function endpointOf(url: URL): Endpoint {
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  return { host: withoutBrackets(url.hostname), port };
}

export function withoutBrackets(host: string): string {
  return host.startsWith('[') ? host.slice(1, -1) : host;
}

/**
 * Opens a connection that lasts until the signal aborts, with all that is built on it.
 *
 * @throws ProbeError
 */
export async function openSocket({ host, port }: Endpoint, what: string, signal: AbortSignal): Promise<Socket> {
  throwIfAborted(signal);
  const socket = connect({ host, port, signal, noDelay: true });
  ignoreLateErrors(socket);
  try {
    await once(socket, 'connect');
    return socket;
  } catch (error) {
    throw networkError(error, `The connection to ${what}`, 'unreachable');
  }
}

/**
 * TLS over a connection; the certificate must be valid for the host.
 *
 * @throws ProbeError
 */
export async function secureSocket(socket: Socket, host: string, what: string, trust: SecureContext): Promise<Socket> {
  const servername = isIP(host) === 0 ? host : '';
  const secured = connectTls({ socket, host, servername, secureContext: trust, ALPNProtocols: ['http/1.1'] });
  ignoreLateErrors(secured);
  try {
    await once(secured, 'secureConnect');
    return secured;
  } catch (error) {
    throw networkError(error, `TLS to ${what}`, 'tls');
  }
}

/** Whoever waits for a socket hears of its errors; when nobody waits any more, they must not end the process. */
function ignoreLateErrors(socket: Socket): void {
  socket.on('error', () => undefined);
}

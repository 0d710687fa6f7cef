import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { ProxyAddress } from '../../pool/lists/proxy.address.js';
import { sendRequest } from './http.exchange.js';
import { ProbeError, networkError } from './probe.error.js';
import type { Endpoint } from './probe.sockets.js';

/** By this status a proxy asks for other credentials (RFC 9110, section 15.5.8). */
export const PROXY_AUTHENTICATION_REQUIRED = 407;

/** How an HTTP proxy is told who asks: basic authentication, if there is a user name. */
export function proxyAuthorization({ username, password = '' }: ProxyAddress): Record<string, string> {
  if (username === undefined) return {};
  return { 'proxy-authorization': `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` };
}

/**
 * Has an HTTP proxy connect a connection to a destination, by CONNECT (RFC 9110, section 9.3.6).
 *
 * @throws ProbeError
 */
export async function openHttpTunnel(toProxy: Socket, proxy: ProxyAddress, { host, port }: Endpoint): Promise<void> {
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const headers = { host: authority, ...proxyAuthorization(proxy) };
  const sent = sendRequest(toProxy, { method: 'CONNECT', path: authority, headers });
  let early: Buffer;
  try {
    const [answer, , rest] = (await once(sent, 'connect')) as [IncomingMessage, Socket, Buffer];
    requireConnected(answer.statusCode ?? 0);
    early = rest;
  } catch (error) {
    throw networkError(error, 'The tunnel through the proxy', 'protocol');
  }
  if (early.length > 0) throw new ProbeError('protocol', 'The proxy sent something before the target was asked.');
}

function requireConnected(status: number): void {
  if (status >= 200 && status <= 299) return;
  if (status === PROXY_AUTHENTICATION_REQUIRED) throw refusedCredentials();
  throw new ProbeError('tunnel', `The proxy made no connection to the target (status ${status}).`);
}

export function refusedCredentials(): ProbeError {
  return new ProbeError(
    'authentication',
    `The proxy asks for other credentials (status ${PROXY_AUTHENTICATION_REQUIRED}).`,
  );
}

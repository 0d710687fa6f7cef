import type { Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import type { ProxyAddress } from '../../pool/lists/proxy.address.js';
import { openHttpTunnel } from './http.tunnel.js';
import { endpointOf, openSocket, secureSocket, withoutBrackets, type Endpoint } from './probe.sockets.js';
import { openSocksTunnel, socksDestination } from './socks.tunnel.js';

/** A connection by which one request reaches a URL. */
export interface Route {
  socket: Socket;
  /** An HTTP proxy reads the request and sends it on, instead of passing bytes through. */
  forwarded: boolean;
}

export interface RouteOptions {
  trust: SecureContext;
  timeoutMs: number;
  /** The route lasts until it aborts. */
  signal: AbortSignal;
}

/**
 * Connects to where a URL is served, without a proxy.
 *
 * @throws ProbeError
 */
export async function routeDirectly(url: URL, { trust, signal }: RouteOptions): Promise<Route> {
  const socket = await openSocket(endpointOf(url), 'the target', signal);
  return { socket: await secureIfHttps(socket, url, trust), forwarded: false };
}

/**
 * Connects to where a URL is served, by way of a proxy. HTTP proxies forward http URLs, as they are made to do; many
 * allow CONNECT to port 443 only.
 *
 * @throws ProbeError
 */
export async function routeThrough(proxy: ProxyAddress, url: URL, options: RouteOptions): Promise<Route> {
  const target = endpointOf(url);
  if (proxy.scheme.startsWith('socks')) {
    const socket = await openThroughSocks(proxy, target, options);
    return { socket: await secureIfHttps(socket, url, options.trust), forwarded: false };
  }
  const socket = await openToHttpProxy(proxy, options);
  if (url.protocol === 'http:') return { socket, forwarded: true };
  await openHttpTunnel(socket, proxy, target);
  return { socket: await secureIfHttps(socket, url, options.trust), forwarded: false };
}

async function openThroughSocks(proxy: ProxyAddress, target: Endpoint, options: RouteOptions): Promise<Socket> {
  const destination = await socksDestination(proxy, target);
  const socket = await openToProxy(proxy, options.signal);
  await openSocksTunnel(socket, proxy, destination, options.timeoutMs);
  return socket;
}

async function openToHttpProxy(proxy: ProxyAddress, { trust, signal }: RouteOptions): Promise<Socket> {
  const socket = await openToProxy(proxy, signal);
  return proxy.scheme === 'https' ? secureSocket(socket, withoutBrackets(proxy.host), 'the proxy', trust) : socket;
}

function openToProxy({ host, port }: ProxyAddress, signal: AbortSignal): Promise<Socket> {
  return openSocket({ host: withoutBrackets(host), port }, 'the proxy', signal);
}

async function secureIfHttps(socket: Socket, url: URL, trust: SecureContext): Promise<Socket> {
  return url.protocol === 'https:' ? secureSocket(socket, endpointOf(url).host, 'the target', trust) : socket;
}

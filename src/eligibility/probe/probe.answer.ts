import type { ProxyAddress } from '../../pool/lists/proxy.address.js';
import { answerTo, readBody, sendRequest } from './http.exchange.js';
import { PROXY_AUTHENTICATION_REQUIRED, proxyAuthorization, refusedCredentials } from './http.tunnel.js';
import type { ProbeSettings } from './probe.settings.js';
import { routeDirectly, routeThrough, type Route, type RouteOptions } from './proxy.route.js';

/** What came back of one request. */
export interface ProbeAnswer {
  status: number;
  /** At most the first 64 KiB; empty where the status is not accepted, as it is not read then. */
  body: string;
  /** In milliseconds. */
  latencyMs: number;
}

const HEADERS = {
  'user-agent': 'Evenhand',
  accept: '*/*',
  // The body is read as it is, and must not come from a cache on the way.
  'accept-encoding': 'identity',
  'cache-control': 'no-cache',
};

/**
 * Asks for the URL of the settings once, on a connection of its own, by way of a proxy or without one.
 *
 * @throws ProbeError when there is no complete answer
 */
export async function askOnce(
  settings: ProbeSettings,
  proxy: ProxyAddress | null,
  options: RouteOptions,
): Promise<ProbeAnswer> {
  const startedAt = performance.now();
  const url = new URL(settings.url);
  const route = proxy ? await routeThrough(proxy, url, options) : await routeDirectly(url, options);
  const answer = await answerTo(sendGet(route, url, proxy));
  const status = answer.statusCode ?? 0;
  if (route.forwarded && status === PROXY_AUTHENTICATION_REQUIRED) throw refusedCredentials();
  const body = settings.status.includes(status) ? await readBody(answer) : '';
  return { status, body, latencyMs: Math.round(performance.now() - startedAt) };
}

function sendGet({ socket, forwarded }: Route, url: URL, proxy: ProxyAddress | null) {
  const headers = { host: url.host, ...HEADERS };
  const path = url.pathname + url.search;
  if (!forwarded || !proxy) return sendRequest(socket, { method: 'GET', path, headers });
  // To a proxy the path is the whole URL (RFC 9112, section 3.2.2).
  return sendRequest(socket, {
    method: 'GET',
    path: url.origin + path,
    headers: { ...headers, ...proxyAuthorization(proxy) },
  });
}

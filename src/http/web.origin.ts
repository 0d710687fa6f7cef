import type { IncomingHttpHeaders } from 'node:http';
import { ForbiddenError } from './http.errors.js';

const LOOPBACK_NAME = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i;

/**
 * Keeps web pages of others away from a service that asks for no key: a page may send requests to loopback addresses, also
 * under a name of its own that it lets resolve to one (DNS rebinding).
 *
 * @throws ForbiddenError
 */
export function requireOwnOrigin({ host = '', origin }: IncomingHttpHeaders): void {
  const name = host.replace(/:\d*$/, '');
  if (!LOOPBACK_NAME.test(name)) {
    throw new ForbiddenError('The Host header must name a loopback address, since the service asks for no key.');
  }
  if (origin === undefined) return;
  if (!URL.canParse(origin) || new URL(origin).host !== host.toLowerCase()) {
    throw new ForbiddenError('Requests from web pages of another origin are not taken.');
  }
}

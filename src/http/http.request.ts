import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** What Fastify's and Express' requests have in common. */
export interface HttpRequest {
  readonly id?: unknown;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  /** The URL as it came, also below a prefix. */
  readonly originalUrl: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  /** What the platform's parser made of the body; the bytes where it is ours. */
  readonly body?: unknown;
  /** Node's request, where the platform wraps it. */
  readonly raw?: IncomingMessage;
}

/** The path of a request without its query. */
export function pathOf({ originalUrl }: Pick<HttpRequest, 'originalUrl'>): string {
  const end = originalUrl.indexOf('?');
  return end < 0 ? originalUrl : originalUrl.slice(0, end);
}

/** The media type of the body, in lower case and without parameters; empty where none is given. */
export function mediaTypeOf(headers: IncomingHttpHeaders): string {
  const type = headers['content-type'] ?? '';
  return (type.split(';', 1)[0] ?? '').trim().toLowerCase();
}

/** A parameter of the path, decoded. */
export function pathParameter(
  { params }: HttpRequest,
  name: 'pool' | 'id' | 'lease' | 'queue' | 'request' | 'job',
): string {
  return params[name] ?? '';
}

/** The connection that the request came on. */
export function socketOf(request: HttpRequest): Socket {
  return (request.raw ?? (request as unknown as IncomingMessage)).socket;
}

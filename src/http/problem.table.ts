import type { ErrorCode } from '../errors/evenhand.error.js';
import type { HttpCode } from './http.errors.js';

export type ProblemCode = ErrorCode | HttpCode;

interface ProblemRow {
  status: number;
  /** The same for every problem of the code; `detail` tells the case. */
  title: string;
}

/** Which status an error's code is answered with. A code without a row does not compile. */
export const PROBLEMS = {
  VALIDATION_FAILED: { status: 400, title: 'The request is not valid' },
  UNAUTHENTICATED: { status: 401, title: 'A key is needed' },
  FORBIDDEN: { status: 403, title: 'Not allowed' },
  POOL_NOT_FOUND: { status: 404, title: 'No such pool' },
  MEMBER_NOT_FOUND: { status: 404, title: 'No such member' },
  LEASE_NOT_FOUND: { status: 404, title: 'No such lease' },
  QUEUE_NOT_FOUND: { status: 404, title: 'No such queue' },
  REQUEST_NOT_FOUND: { status: 404, title: 'No such request' },
  JOB_NOT_FOUND: { status: 404, title: 'No such job' },
  ROUTE_NOT_FOUND: { status: 404, title: 'No such route' },
  NO_LEASE_LIFECYCLE: { status: 409, title: "The pool's strategy has no leases" },
  POOL_BUSY: { status: 409, title: 'Leases of the pool are live' },
  QUEUE_BUSY: { status: 409, title: 'The queue has jobs' },
  LEASE_ENDED: { status: 409, title: 'The lease has ended' },
  STALE_FENCE: { status: 409, title: 'The fence is not that of the lease' },
  REQUEST_ID_REUSED: { status: 409, title: 'The requestId was used before' },
  IMPORT_RUNNING: { status: 409, title: 'Another import is running' },
  LEASE_EXPIRED: { status: 410, title: 'The lease has expired' },
  PAYLOAD_TOO_LARGE: { status: 413, title: 'The body is too large' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, title: 'This content type is not taken here' },
  STRATEGY_UNKNOWN: { status: 422, title: 'No such strategy' },
  FILTER_NOT_DECLARED: { status: 422, title: 'The pool declares no such filter' },
  EMPTY_SOURCE: { status: 422, title: 'The list holds no valid member' },
  COLUMNS_UNKNOWN: { status: 422, title: 'The CSV names no host column' },
  LAUNCHER_UNKNOWN: { status: 422, title: 'No such launcher' },
  QUEUE_FULL: { status: 429, title: 'The queue is full' },
  RATE_LIMITED: { status: 429, title: 'Too many requests' },
  INTERNAL: { status: 500, title: 'A fault of ours' },
  FILTER_NOT_READY: { status: 503, title: 'The filter is still being built' },
  REDIS_UNAVAILABLE: { status: 503, title: 'Redis is unavailable' },
  REDIS_REFUSED: { status: 503, title: 'Redis refused' },
  SHUTTING_DOWN: { status: 503, title: 'The service is shutting down' },
} as const satisfies Record<ProblemCode, ProblemRow>;

/** After how many seconds a client may try again where the trouble will pass. */
const RETRY_AFTER_S = 1;
const WILL_PASS: readonly ProblemCode[] = [
  'QUEUE_FULL',
  'RATE_LIMITED',
  'FILTER_NOT_READY',
  'REDIS_UNAVAILABLE',
  'SHUTTING_DOWN',
];

/** The headers that a problem of that code is answered with. */
export function problemHeaders(code: ProblemCode): [name: string, value: string][] {
  const headers: [string, string][] = [['Content-Type', 'application/problem+json; charset=utf-8']];
  if (WILL_PASS.includes(code)) headers.push(['Retry-After', String(RETRY_AFTER_S)]);
  // The connection ends with the service, or with the body that is not read to its end.
  if (code === 'PAYLOAD_TOO_LARGE' || code === 'SHUTTING_DOWN') headers.push(['Connection', 'close']);
  return headers;
}

/** `POOL_NOT_FOUND` -> `urn:evenhand:problem:pool-not-found`. */
export function problemType(code: ProblemCode): string {
  return `urn:evenhand:problem:${code.toLowerCase().replaceAll('_', '-')}`;
}

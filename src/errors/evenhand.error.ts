/** Every stable error code. `http/` maps each to a status; a host application may switch over them. */
export type ErrorCode =
  | 'VALIDATION_FAILED'
  | 'POOL_NOT_FOUND'
  | 'MEMBER_NOT_FOUND'
  | 'LEASE_NOT_FOUND'
  | 'LEASE_ENDED'
  | 'LEASE_EXPIRED'
  | 'STALE_FENCE'
  | 'REQUEST_ID_REUSED'
  | 'POOL_BUSY'
  | 'NO_LEASE_LIFECYCLE'
  | 'IMPORT_RUNNING'
  | 'STRATEGY_UNKNOWN'
  | 'FILTER_NOT_DECLARED'
  | 'FILTER_NOT_READY'
  | 'EMPTY_SOURCE'
  | 'COLUMNS_UNKNOWN'
  | 'QUEUE_NOT_FOUND'
  | 'REQUEST_NOT_FOUND'
  | 'JOB_NOT_FOUND'
  | 'QUEUE_BUSY'
  | 'QUEUE_FULL'
  | 'LAUNCHER_UNKNOWN'
  | 'REDIS_UNAVAILABLE'
  | 'REDIS_REFUSED'
  | 'SHUTTING_DOWN';

/** The base of everything that Evenhand throws on purpose. */
export abstract class EvenhandError extends Error {
  /** Stable and meant for programs; `message` is meant for people and may change. */
  abstract readonly code: ErrorCode;

  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = new.target.name;
  }
}

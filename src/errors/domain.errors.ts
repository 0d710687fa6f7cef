import { EvenhandError } from './evenhand.error.js';

/** One thing that is wrong with an input: where it is, and what would be right. */
export interface ValidationProblem {
  /** Dotted path of the field, such as `lease.ttlMs`; empty for the input as a whole. */
  path: string;
  message: string;
}

/** An input does not have the form that is asked for; nothing was changed. */
export class ValidationFailedError extends EvenhandError {
  readonly code = 'VALIDATION_FAILED';

  constructor(
    message: string,
    readonly problems: readonly ValidationProblem[] = [],
  ) {
    super(message);
  }
}

export class PoolNotFoundError extends EvenhandError {
  readonly code = 'POOL_NOT_FOUND';

  constructor(readonly pool: string) {
    super(`There is no pool "${pool}".`);
  }
}

export class MemberNotFoundError extends EvenhandError {
  readonly code = 'MEMBER_NOT_FOUND';

  constructor(
    readonly pool: string,
    readonly memberId: string,
  ) {
    super(`The pool "${pool}" has no member "${memberId}".`);
  }
}

/** A lease operation was asked of a pool whose strategy reserves nothing. */
export class NoLeaseLifecycleError extends EvenhandError {
  readonly code = 'NO_LEASE_LIFECYCLE';

  constructor(
    readonly pool: string,
    readonly strategy: string,
  ) {
    super(
      `The pool "${pool}" uses "${strategy}", which hands out no leases: there is nothing to complete, abandon or extend.`,
    );
  }
}

export class ImportRunningError extends EvenhandError {
  readonly code = 'IMPORT_RUNNING';

  constructor(readonly pool: string) {
    super(`Another import into the pool "${pool}" is under way. Try again when it has ended.`);
  }
}

export class StrategyUnknownError extends EvenhandError {
  readonly code = 'STRATEGY_UNKNOWN';

  constructor(
    readonly strategy: string,
    readonly known: readonly string[],
  ) {
    super(`There is no strategy "${strategy}". Known strategies: ${known.join(', ')}.`);
  }
}

/** `mode=replace` with a list that holds no valid member would empty the pool; it is refused. */
export class EmptySourceError extends EvenhandError {
  readonly code = 'EMPTY_SOURCE';

  constructor(
    readonly pool: string,
    readonly rejectedTotal: number,
  ) {
    super(`The list holds no valid member (${rejectedTotal} rejected), so nothing in the pool "${pool}" was replaced.`);
  }
}

/** A CSV whose header names no host column. */
export class ColumnsUnknownError extends EvenhandError {
  readonly code = 'COLUMNS_UNKNOWN';

  constructor(readonly columns: readonly string[]) {
    super(
      `The CSV header names no host. Columns seen: ${columns.join(', ')}. Expected a header row with "host" or "ip", and "port".`,
    );
  }
}

/** Redis is away, timed out, loading or read-only. A pick whose reply was lost may have been counted once. */
export class RedisUnavailableError extends EvenhandError {
  readonly code = 'REDIS_UNAVAILABLE';
}

/** Redis answered and said no: out of memory, no permission, wrong credentials or too old. */
export class RedisRefusedError extends EvenhandError {
  readonly code = 'REDIS_REFUSED';
}

export class ShuttingDownError extends EvenhandError {
  readonly code = 'SHUTTING_DOWN';

  constructor() {
    super('This process is shutting down and takes no new work.');
  }
}

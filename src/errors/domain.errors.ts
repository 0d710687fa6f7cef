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

/** No lease of the pool has this id, or it ended too long ago to be remembered. */
export class LeaseNotFoundError extends EvenhandError {
  readonly code = 'LEASE_NOT_FOUND';

  constructor(readonly pool: string) {
    super(`The pool "${pool}" has no such lease, or it ended so long ago that it is forgotten.`);
  }
}

/** The lease was completed or abandoned before. */
export class LeaseEndedError extends EvenhandError {
  readonly code = 'LEASE_ENDED';

  constructor(readonly endedAs: 'completed' | 'abandoned') {
    super(`The lease was ${endedAs} before.`);
  }
}

/** The lease expired, or was ended by force: its member may be in other hands by now. */
export class LeaseExpiredError extends EvenhandError {
  readonly code = 'LEASE_EXPIRED';

  constructor(readonly endedAs: 'expired' | 'forced') {
    super(endedAs === 'forced' ? 'The lease was ended by force.' : 'The lease has expired.');
  }
}

export class StaleFenceError extends EvenhandError {
  readonly code = 'STALE_FENCE';

  constructor() {
    super('The given fence is not that of the lease.');
  }
}

/** A requestId may be repeated with the same request while it waits or its lease lives. */
export class RequestIdReusedError extends EvenhandError {
  readonly code = 'REQUEST_ID_REUSED';

  /** @param endedAs how the lease of the first request ended; absent where the request was another */
  constructor(readonly endedAs?: 'completed' | 'abandoned' | 'expired' | 'forced') {
    super(
      endedAs === undefined
        ? 'The requestId was used before, with another request.'
        : `The requestId was used before, and its lease was ${endedAs === 'expired' ? 'not ended before it expired' : endedAs}.`,
    );
  }
}

/** While leases are live, or somebody waits for one, a pool keeps its strategy and is not deleted. */
export class PoolBusyError extends EvenhandError {
  readonly code = 'POOL_BUSY';

  constructor(readonly pool: string) {
    super(`The pool "${pool}" has live leases, or somebody waits for one.`);
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

/** A selection asks for labels that the pool's `filters` do not name together. */
export class FilterNotDeclaredError extends EvenhandError {
  readonly code = 'FILTER_NOT_DECLARED';

  constructor(
    readonly pool: string,
    readonly labels: readonly string[],
    readonly declared: readonly (readonly string[])[],
  ) {
    super(
      `The pool "${pool}" declares no filter on ${JSON.stringify(labels)}. ` +
        (declared.length > 0
          ? `Declared are: ${declared.map((filter) => JSON.stringify(filter)).join(', ')}.`
          : 'It declares none.'),
    );
  }
}

/** A filter was declared a moment ago, and its members are still being put in order. */
export class FilterNotReadyError extends EvenhandError {
  readonly code = 'FILTER_NOT_READY';

  constructor(
    readonly pool: string,
    readonly labels: readonly string[],
  ) {
    super(`The filter on ${JSON.stringify(labels)} of the pool "${pool}" is still being built. Try again.`);
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

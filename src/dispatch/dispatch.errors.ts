import { EvenhandError } from '../errors/evenhand.error.js';

export class QueueNotFoundError extends EvenhandError {
  readonly code = 'QUEUE_NOT_FOUND';

  constructor(readonly queue: string) {
    super(`There is no queue "${queue}".`);
  }
}

/** No request of the queue has this id, or it ended so long ago that it is forgotten. */
export class RequestNotFoundError extends EvenhandError {
  readonly code = 'REQUEST_NOT_FOUND';

  constructor(readonly queue: string) {
    super(`The queue "${queue}" has no such request, or it ended so long ago that it is forgotten.`);
  }
}

/** No job of the queue has this id, or its request ended so long ago that it is forgotten. */
export class JobNotFoundError extends EvenhandError {
  readonly code = 'JOB_NOT_FOUND';

  constructor(readonly queue: string) {
    super(`The queue "${queue}" has no such job, or its request ended so long ago that it is forgotten.`);
  }
}

/** A queue with jobs is not deleted. */
export class QueueBusyError extends EvenhandError {
  readonly code = 'QUEUE_BUSY';

  constructor(readonly queue: string) {
    super(`The queue "${queue}" has jobs that wait or run, or is being deleted.`);
  }
}

/** As many jobs wait as may. */
export class QueueFullError extends EvenhandError {
  readonly code = 'QUEUE_FULL';

  constructor(
    readonly queue: string,
    readonly limit: number,
  ) {
    super(`No more than ${limit} jobs may wait in the queue "${queue}".`);
  }
}

export class LauncherUnknownError extends EvenhandError {
  readonly code = 'LAUNCHER_UNKNOWN';

  constructor(
    readonly launcher: string,
    readonly known: readonly string[],
  ) {
    super(`There is no launcher "${launcher}". Known launchers: ${known.join(', ')}.`);
  }
}

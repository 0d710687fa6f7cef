/** Codes that only HTTP knows; those of the services are in `errors/`. */
export type HttpCode =
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'ROUTE_NOT_FOUND'
  | 'PAYLOAD_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'RATE_LIMITED'
  | 'INTERNAL';

/** A request was refused before any service saw it. */
export abstract class HttpError extends Error {
  abstract readonly code: HttpCode;

  constructor(message: string) {
    super(message);
    this.name = new.target.name;
  }
}

/** The request comes from a web page of somebody else, or for a host that is not this one. */
export class ForbiddenError extends HttpError {
  readonly code = 'FORBIDDEN';
}

export class RouteNotFoundError extends HttpError {
  readonly code = 'ROUTE_NOT_FOUND';

  constructor() {
    super('There is no such route, or not for this method. /docs lists them all.');
  }
}

export class PayloadTooLargeError extends HttpError {
  readonly code = 'PAYLOAD_TOO_LARGE';

  /** @param limit in bytes, where it is known */
  constructor(readonly limit?: number) {
    super(
      limit === undefined
        ? 'The body is too large.'
        : `The body is larger than the ${limit} bytes that are taken here.`,
    );
  }
}

export class UnsupportedMediaTypeError extends HttpError {
  readonly code = 'UNSUPPORTED_MEDIA_TYPE';
}

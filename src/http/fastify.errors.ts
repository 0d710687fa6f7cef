import { ValidationFailedError } from '../errors/domain.errors.js';
import { HttpError, PayloadTooLargeError, RouteNotFoundError, UnsupportedMediaTypeError } from './http.errors.js';

/** Fastify's codes of errors that the client made, in our words: Fastify's repeat what the client sent. */
const MEANINGS: Readonly<Record<string, () => Error>> = {
  FST_ERR_BAD_URL: () => invalid('path', 'holds a % that starts no %-encoded UTF-8 character'),
  FST_ERR_MAX_PARAM_LENGTH: () => invalid('path', 'holds a name that is too long'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () => invalid('', 'the body is not as long as its Content-Length says'),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () =>
    new UnsupportedMediaTypeError('The content type of the body is not taken here.'),
  FST_ERR_CTP_BODY_TOO_LARGE: () => new PayloadTooLargeError(),
  FST_ERR_NOT_FOUND: () => new RouteNotFoundError(),
};

/** Our error for one of Fastify's, or for one of ours or Fastify's that Nest wrapped; undefined for all others. */
export function fromFastify(error: unknown): Error | undefined {
  const inner = error instanceof Error && error.cause instanceof Error && !isOurs(error) ? error.cause : error;
  if (isOurs(inner)) return inner as Error;
  const code = (inner as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' && Object.hasOwn(MEANINGS, code) ? MEANINGS[code]?.() : undefined;
}

function isOurs(error: unknown): boolean {
  return error instanceof HttpError;
}

function invalid(path: string, message: string): ValidationFailedError {
  return new ValidationFailedError(path === '' ? `The request: ${message}.` : `The ${path} ${message}.`, [
    { path, message },
  ]);
}

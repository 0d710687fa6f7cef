import { randomUUID } from 'node:crypto';
import { HttpException } from '@nestjs/common';
import { type ValidationProblem, ValidationFailedError } from '../errors/domain.errors.js';
import { EvenhandError } from '../errors/evenhand.error.js';
import { fromFastify } from './fastify.errors.js';
import { HttpError } from './http.errors.js';
import type { HttpRequest } from './http.request.js';
import { pathOf } from './http.request.js';
import { PROBLEMS, type ProblemCode, problemType } from './problem.table.js';

/** A problem document of RFC 9457; some codes bring fields of their own. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  /** Path of the request. */
  instance: string;
  code: ProblemCode;
  errors?: readonly ValidationProblem[];
  /** Finds the log line of a fault of ours. */
  requestId?: string;
  [field: string]: unknown;
}

/** Fields of errors that a problem document repeats. */
const DATA_FIELDS = [
  'pool',
  'memberId',
  'strategy',
  'known',
  'queue',
  'launcher',
  'columns',
  'rejectedTotal',
  'limit',
  'endedAs',
  'declared',
] as const;

const CODES_OF_STATUS: Readonly<Record<number, ProblemCode>> = {
  400: 'VALIDATION_FAILED',
  401: 'UNAUTHENTICATED',
  403: 'FORBIDDEN',
  404: 'ROUTE_NOT_FOUND',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  429: 'RATE_LIMITED',
};

/** What went wrong, as a problem document. Shows nothing of an error that was not made to be shown. */
export function toProblem(error: unknown, request: Pick<HttpRequest, 'id' | 'originalUrl'>): Problem {
  const instance = pathOf(request);
  const known = fromFastify(error) ?? error;
  if (known instanceof EvenhandError || known instanceof HttpError) {
    const errors = known instanceof ValidationFailedError ? { errors: known.problems } : {};
    return { ...problem(known.code, known.message, instance), ...errors, ...dataOf(known) };
  }
  const code = known instanceof HttpException ? CODES_OF_STATUS[known.getStatus()] : undefined;
  if (code !== undefined) return problem(code, detailOf(known as HttpException), instance);
  const requestId = typeof request.id === 'string' ? request.id : randomUUID();
  const detail = 'Something went wrong that should not. The log of the service has it under this request id.';
  return { ...problem('INTERNAL', detail, instance), requestId };
}

function problem(code: ProblemCode, detail: string, instance: string): Problem {
  const { status, title } = PROBLEMS[code];
  const document = { type: problemType(code), title, status, detail, instance, code };
  return code === 'VALIDATION_FAILED' ? { ...document, errors: [] } : document;
}

/** Nest words its own 404 with the whole URL, query included. */
function detailOf(error: HttpException): string {
  return error.getStatus() === 404 ? 'There is no such route, or not for this method.' : error.message;
}

function dataOf(error: object): Record<string, unknown> {
  return Object.fromEntries(DATA_FIELDS.flatMap((field) => (field in error ? [[field, error[field as never]]] : [])));
}

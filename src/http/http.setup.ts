import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { HttpAdapterHost } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ShuttingDownError } from '../errors/domain.errors.js';
import { SelectionService } from '../selection/selection.service.js';
import { BODY_LIMIT } from './body.reader.js';
import { readBytes } from './body.stream.js';
import { UnsupportedMediaTypeError } from './http.errors.js';
import { ProblemFilter } from './problem.filter.js';
import { toProblem } from './problem.js';
import { problemHeaders } from './problem.table.js';
import { requireOwnOrigin } from './web.origin.js';

/** More than Node takes of all headers: what a name may be is for the services to say. */
const MAX_PARAM_LENGTH = 16_384;
/** How long a request may take to arrive whole. */
const REQUEST_TIMEOUT_MS = 120_000;

const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** The HTTP server of the service. */
export function createAdapter(): FastifyAdapter {
  return new FastifyAdapter({
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    requestTimeout: REQUEST_TIMEOUT_MS,
    genReqId: () => randomUUID(),
    // What the router refuses before any hook runs: a malformed or over-long path.
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      const problem = toProblem(error, request);
      void reply
        .code(problem.status)
        .headers({ ...HEADERS, ...Object.fromEntries(problemHeaders(problem.code)) })
        .send(problem);
    },
    // The shutdown hook below answers, with a problem document.
    return503OnClosing: false,
  });
}

/** Bodies within their limits, problem documents for all that goes wrong, no web pages of others, no work while closing. */
export function configureHttp(app: NestFastifyApplication, importLimit: number): void {
  const fastify = app.getHttpAdapter().getInstance();
  const selection = app.get(SelectionService);
  app.useGlobalFilters(new ProblemFilter(app.get(HttpAdapterHost)));
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage) => {
    const body = await readBytes(payload, isLarge(request) ? importLimit : BODY_LIMIT);
    const encoding = request.headers['content-encoding'] ?? 'identity';
    if (encoding !== 'identity') throw new UnsupportedMediaTypeError('A compressed body is not taken.');
    return body;
  });
  fastify.addHook('onRequest', async (request, reply) => {
    reply.headers(HEADERS);
    requireOwnOrigin(request.headers);
    if (selection.isClosing && request.url !== '/health/live') throw new ShuttingDownError();
  });
}

/** Lists of members, and requests for thousands of jobs. */
function isLarge({ method, routeOptions: { url = '' } }: FastifyRequest): boolean {
  return method === 'POST' && (url.endsWith('/members') || url.endsWith('/requests'));
}

import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { HttpRequest } from './http.request.js';
import { toProblem } from './problem.js';
import { problemHeaders } from './problem.table.js';

/** Answers whatever was thrown with a problem document. A fault of ours is logged with the request id that the answer shows. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  private readonly logger = new Logger('Http');

  constructor(private readonly host: HttpAdapterHost) {}

  catch(error: unknown, context: ArgumentsHost): void {
    const http = context.switchToHttp();
    const problem = toProblem(error, http.getRequest<HttpRequest>());
    if (problem.code === 'INTERNAL') {
      this.logger.error(
        `Request ${String(problem.requestId)} failed.`,
        error instanceof Error ? error.stack : undefined,
      );
    }
    const response = http.getResponse<object>();
    const adapter = this.host.httpAdapter;
    if (adapter.isHeadersSent(response)) return;
    for (const [name, value] of problemHeaders(problem.code)) adapter.setHeader(response, name, value);
    adapter.reply(response, problem, problem.status);
  }
}

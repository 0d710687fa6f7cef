import { Controller, HttpCode, Post, Req, UseFilters } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { poolNameSchema } from '../pool/pool.settings.js';
import { SelectionService } from '../selection/selection.service.js';
import {
  type BatchRequest,
  type SelectionRequest,
  batchRequestSchema,
  selectionRequestSchema,
} from '../selection/selection.types.js';
import { readJsonBody } from './body.reader.js';
import { type HttpRequest, pathParameter, socketOf } from './http.request.js';
import { Operation } from './operation.decorator.js';
import { ProblemFilter } from './problem.filter.js';
import { batchResultSchema, selectionResultSchema } from './response.schemas.js';

const params = { pool: poolNameSchema };

/** "Which one do I use next?" */
@ApiTags('selections')
@Controller('v1/pools/:pool/selections')
@UseFilters(ProblemFilter)
export class SelectionsController {
  constructor(private readonly selection: SelectionService) {}

  @Post()
  @HttpCode(200)
  @Operation({
    summary: 'Select a member',
    description: 'With nothing to hand out, `selection` is null and `reason` says why; that is no error.',
    params,
    body: selectionRequestSchema,
    answers: { 200: selectionResultSchema },
    problems: ['POOL_NOT_FOUND', 'REQUEST_ID_REUSED', 'SHUTTING_DOWN'],
  })
  select(@Req() request: HttpRequest) {
    const body = readJsonBody(request) as SelectionRequest;
    const pool = pathParameter(request, 'pool');
    return waits(body) ? this.wait(pool, body, request) : this.selection.select(pool, body);
  }

  @Post('batch')
  @HttpCode(200)
  @Operation({
    summary: 'Select several members',
    description: 'The same result as that many single selections in a row, in one atomic step.',
    params,
    body: batchRequestSchema,
    bodyRequired: true,
    answers: { 200: batchResultSchema },
    problems: ['POOL_NOT_FOUND', 'SHUTTING_DOWN'],
  })
  selectBatch(@Req() request: HttpRequest) {
    return this.selection.selectBatch(pathParameter(request, 'pool'), readJsonBody(request) as BatchRequest);
  }

  /** A client that hangs up leaves the line. */
  private async wait(pool: string, body: SelectionRequest, request: HttpRequest) {
    const hungUp = new AbortController();
    const hangUp = () => {
      hungUp.abort();
    };
    const socket = socketOf(request);
    socket.once('close', hangUp);
    try {
      return await this.selection.select(pool, body, hungUp.signal);
    } finally {
      socket.off('close', hangUp);
    }
  }
}

/** Before anything is checked: a body may be any JSON. */
function waits(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'waitMs' in body && body.waitMs !== 0;
}

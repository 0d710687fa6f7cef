import { Controller, HttpCode, Post, Req, UseFilters } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { OutcomeService } from '../eligibility/health/outcome.service.js';
import {
  type Outcome,
  type OutcomeBatch,
  outcomeBatchSchema,
  outcomeSchema,
} from '../eligibility/health/outcome.types.js';
import { memberIdSchema } from '../pool/member.schema.js';
import { poolNameSchema } from '../pool/pool.settings.js';
import { readJsonBody } from './body.reader.js';
import { type HttpRequest, pathParameter } from './http.request.js';
import { Operation } from './operation.decorator.js';
import { ProblemFilter } from './problem.filter.js';
import { outcomeResultSchema, outcomeResultsSchema } from './response.schemas.js';

const poolParam = { pool: poolNameSchema };

/** How work with members went. */
@ApiTags('outcomes')
@Controller('v1/pools/:pool')
@UseFilters(ProblemFilter)
export class OutcomesController {
  constructor(private readonly outcomes: OutcomeService) {}

  @Post('members/:id/outcomes')
  @HttpCode(200)
  @Operation({
    summary: 'Report an outcome',
    description: 'For any strategy; where there are leases, `complete` takes the outcome with it.',
    params: { ...poolParam, id: memberIdSchema },
    body: outcomeSchema,
    bodyRequired: true,
    answers: { 200: outcomeResultSchema },
    problems: ['POOL_NOT_FOUND', 'MEMBER_NOT_FOUND'],
  })
  report(@Req() request: HttpRequest) {
    const id = pathParameter(request, 'id');
    return this.outcomes.report(pathParameter(request, 'pool'), id, readJsonBody(request) as Outcome);
  }

  @Post('outcomes')
  @HttpCode(200)
  @Operation({
    summary: 'Report several outcomes',
    description: 'One of a member that is not there does not stand in the way of the others.',
    params: poolParam,
    body: outcomeBatchSchema,
    bodyRequired: true,
    answers: { 200: outcomeResultsSchema },
    problems: ['POOL_NOT_FOUND'],
  })
  reportBatch(@Req() request: HttpRequest) {
    return this.outcomes.reportBatch(pathParameter(request, 'pool'), readJsonBody(request) as OutcomeBatch);
  }
}

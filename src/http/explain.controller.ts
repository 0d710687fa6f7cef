import { Controller, Get, Req, UseFilters } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { ExplainService } from '../eligibility/explain/explain.service.js';
import { explainRequestSchema, type ExplainRequest } from '../eligibility/explain/explain.types.js';
import { poolNameSchema } from '../pool/pool.settings.js';
import { type HttpRequest, pathParameter } from './http.request.js';
import { Operation } from './operation.decorator.js';
import { ProblemFilter } from './problem.filter.js';
import { readJsonParameter, readQuery } from './query.reader.js';
import { explanationSchema } from './response.schemas.js';

const querySchema = z.strictObject({
  labels: z
    .string()
    .optional()
    .describe('Only members with these labels: a JSON object, percent-encoded')
    .meta({ example: '{"country":"DE"}' }),
  target: explainRequestSchema.shape.target,
  exclude: z
    .string()
    .optional()
    .describe('Members that are not wanted: a JSON list of ids, percent-encoded')
    .meta({ example: '["http://192.0.2.7:8080"]' }),
});

/** Why a pool hands out what it does. */
@ApiTags('pools')
@Controller('v1/pools/:pool/explain')
@UseFilters(ProblemFilter)
export class ExplainController {
  constructor(private readonly explanations: ExplainService) {}

  @Get()
  @Operation({
    summary: 'Count the members that can be selected, and what keeps the others from it',
    description:
      'The first counts are those of the pool, `match` those of the members that a selection with these labels, target and exclusions ' +
      'asks for. The labels need not be among the filters of the pool.',
    params: { pool: poolNameSchema },
    query: querySchema,
    answers: { 200: explanationSchema },
    problems: ['POOL_NOT_FOUND'],
  })
  explain(@Req() request: HttpRequest) {
    const { labels, target, exclude } = readQuery(querySchema, request);
    return this.explanations.explain(pathParameter(request, 'pool'), {
      ...(labels !== undefined && { labels: readJsonParameter('labels', labels) }),
      ...(target !== undefined && { target }),
      ...(exclude !== undefined && { exclude: readJsonParameter('exclude', exclude) }),
    } as ExplainRequest);
  }
}

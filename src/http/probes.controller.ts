import { Controller, HttpCode, Post, Req, UseFilters } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { poolNameSchema } from '../pool/pool.settings.js';
import { PoolService } from '../pool/pool.service.js';
import { requireNothing } from './body.reader.js';
import { type HttpRequest, pathParameter } from './http.request.js';
import { Operation } from './operation.decorator.js';
import { ProblemFilter } from './problem.filter.js';
import { scheduledProbesSchema } from './response.schemas.js';

const params = { pool: poolNameSchema };
const nothing = z.strictObject({});

/** The probes of a pool. */
@ApiTags('pools')
@Controller('v1/pools/:pool/probes')
@UseFilters(ProblemFilter)
export class ProbesController {
  constructor(private readonly pools: PoolService) {}

  @Post()
  @HttpCode(202)
  @Operation({
    summary: 'Probe the candidates and unhealthy members of a pool soon',
    description: 'Those that are being probed are left to it. `probes` of the pool says how far it is.',
    params,
    body: nothing,
    answers: { 202: scheduledProbesSchema },
    problems: ['POOL_NOT_FOUND'],
  })
  schedule(@Req() request: HttpRequest) {
    requireNothing(request);
    return this.pools.scheduleProbes(pathParameter(request, 'pool'));
  }
}

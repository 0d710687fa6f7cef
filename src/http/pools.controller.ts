import { Controller, Delete, Get, HttpCode, Put, Req, Res, UseFilters } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { pageRequestSchema } from '../pool/page.js';
import { type PoolChanges, poolChangesSchema, poolNameSchema } from '../pool/pool.settings.js';
import { PoolService } from '../pool/pool.service.js';
import { readJsonBody } from './body.reader.js';
import { type HttpRequest, pathParameter } from './http.request.js';
import { Operation } from './operation.decorator.js';
import { ProblemFilter } from './problem.filter.js';
import { readQuery } from './query.reader.js';
import { poolPageSchema, poolSchema } from './response.schemas.js';

const params = { pool: poolNameSchema };
const noQuery = z.strictObject({});
const deleteQuerySchema = z.strictObject({
  force: z.boolean().optional().describe('End live leases too'),
});

/** Pools and their settings. */
@ApiTags('pools')
@Controller('v1/pools')
@UseFilters(ProblemFilter)
export class PoolsController {
  constructor(private readonly pools: PoolService) {}

  @Get()
  @Operation({ summary: 'List pools', query: pageRequestSchema, answers: { 200: poolPageSchema } })
  list(@Req() request: HttpRequest) {
    return this.pools.list(readQuery(pageRequestSchema, request));
  }

  @Get(':pool')
  @Operation({ summary: 'Show a pool', params, answers: { 200: poolSchema }, problems: ['POOL_NOT_FOUND'] })
  get(@Req() request: HttpRequest) {
    readQuery(noQuery, request);
    return this.pools.get(pathParameter(request, 'pool'));
  }

  @Put(':pool')
  @Operation({
    summary: 'Create a pool, or change its settings',
    description: 'An absent field keeps its value, or takes the default in a new pool. Safe to repeat.',
    params,
    body: poolChangesSchema,
    answers: { 200: poolSchema, 201: poolSchema },
    problems: ['STRATEGY_UNKNOWN', 'POOL_BUSY'],
  })
  async put(@Req() request: HttpRequest, @Res({ passthrough: true }) response: { status(code: number): unknown }) {
    readQuery(noQuery, request);
    const { created, pool } = await this.pools.put(
      pathParameter(request, 'pool'),
      readJsonBody(request) as PoolChanges,
    );
    response.status(created ? 201 : 200);
    return pool;
  }

  @Delete(':pool')
  @HttpCode(204)
  @Operation({
    summary: 'Delete a pool with its members and their history',
    params,
    answers: { 204: null },
    problems: ['POOL_NOT_FOUND', 'POOL_BUSY'],
  })
  async delete(@Req() request: HttpRequest): Promise<void> {
    const { force = false } = readQuery(deleteQuerySchema, request);
    await this.pools.delete(pathParameter(request, 'pool'), { force });
  }
}

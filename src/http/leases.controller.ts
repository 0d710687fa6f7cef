import { Controller, Delete, Get, HttpCode, Post, Req, UseFilters } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { pageRequestSchema } from '../pool/page.js';
import { poolNameSchema } from '../pool/pool.settings.js';
import { LeaseService } from '../selection/leases/lease.service.js';
import {
  type Abandonment,
  type Completion,
  type Extension,
  type ExtensionBatch,
  abandonmentSchema,
  completionSchema,
  extensionBatchSchema,
  extensionSchema,
} from '../selection/leases/lease.types.js';
import { readJsonBody } from './body.reader.js';
import { type HttpRequest, pathParameter } from './http.request.js';
import { Operation } from './operation.decorator.js';
import type { ProblemCode } from './problem.table.js';
import { ProblemFilter } from './problem.filter.js';
import { readQuery } from './query.reader.js';
import {
  abandonedSchema,
  completedSchema,
  extendedSchema,
  extensionResultsSchema,
  leasePageSchema,
  leaseViewSchema,
} from './response.schemas.js';

const poolParam = { pool: poolNameSchema };
const leaseParams = { ...poolParam, lease: z.string().describe('Id of the lease') };
const noQuery = z.strictObject({});
const OF_POOL: ProblemCode[] = ['POOL_NOT_FOUND', 'NO_LEASE_LIFECYCLE'];
const OF_LEASE: ProblemCode[] = [...OF_POOL, 'LEASE_NOT_FOUND', 'LEASE_ENDED', 'LEASE_EXPIRED', 'STALE_FENCE'];

/** Leases, for pools whose strategy has them. */
@ApiTags('leases')
@Controller('v1/pools/:pool/leases')
@UseFilters(ProblemFilter)
export class LeasesController {
  constructor(private readonly leases: LeaseService) {}

  @Get()
  @Operation({
    summary: 'List live leases',
    description: 'In the order in which they expire.',
    params: poolParam,
    query: pageRequestSchema,
    answers: { 200: leasePageSchema },
    problems: OF_POOL,
  })
  list(@Req() request: HttpRequest) {
    return this.leases.list(pathParameter(request, 'pool'), readQuery(pageRequestSchema, request));
  }

  @Post('extend')
  @HttpCode(200)
  @Operation({
    summary: 'Extend several leases',
    description: 'In one step; one that has ended does not stand in the way of the others.',
    params: poolParam,
    body: extensionBatchSchema,
    bodyRequired: true,
    answers: { 200: extensionResultsSchema },
    problems: OF_POOL,
  })
  extendBatch(@Req() request: HttpRequest) {
    return this.leases.extendBatch(pathParameter(request, 'pool'), readJsonBody(request) as ExtensionBatch);
  }

  @Get(':lease')
  @Operation({
    summary: 'Show a live lease',
    params: leaseParams,
    answers: { 200: leaseViewSchema },
    problems: [...OF_POOL, 'LEASE_NOT_FOUND'],
  })
  get(@Req() request: HttpRequest) {
    readQuery(noQuery, request);
    return this.leases.get(pathParameter(request, 'pool'), pathParameter(request, 'lease'));
  }

  @Delete(':lease')
  @HttpCode(204)
  @Operation({ summary: 'End a lease by force', params: leaseParams, answers: { 204: null }, problems: OF_LEASE })
  force(@Req() request: HttpRequest): Promise<void> {
    return this.leases.force(pathParameter(request, 'pool'), pathParameter(request, 'lease'));
  }

  @Post(':lease/complete')
  @HttpCode(200)
  @Operation({
    summary: 'End a lease with an outcome',
    params: leaseParams,
    body: completionSchema,
    answers: { 200: completedSchema },
    problems: OF_LEASE,
  })
  complete(@Req() request: HttpRequest) {
    const body = readJsonBody(request) as Completion;
    return this.leases.complete(pathParameter(request, 'pool'), pathParameter(request, 'lease'), body);
  }

  @Post(':lease/abandon')
  @HttpCode(200)
  @Operation({
    summary: 'Give a member back unused',
    params: leaseParams,
    body: abandonmentSchema,
    answers: { 200: abandonedSchema },
    problems: OF_LEASE,
  })
  abandon(@Req() request: HttpRequest) {
    const body = readJsonBody(request) as Abandonment;
    return this.leases.abandon(pathParameter(request, 'pool'), pathParameter(request, 'lease'), body);
  }

  @Post(':lease/extend')
  @HttpCode(200)
  @Operation({
    summary: 'Push the expiry of a lease out',
    description: 'Never brings it forward.',
    params: leaseParams,
    body: extensionSchema,
    answers: { 200: extendedSchema },
    problems: OF_LEASE,
  })
  extend(@Req() request: HttpRequest) {
    const body = readJsonBody(request) as Extension;
    return this.leases.extend(pathParameter(request, 'pool'), pathParameter(request, 'lease'), body);
  }
}

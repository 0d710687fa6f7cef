import { Controller, Delete, Get, HttpCode, Post, Req, UseFilters } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { poolNameSchema } from '../pool/pool.settings.js';
import { SelectionService } from '../selection/selection.service.js';
import { type HttpRequest, pathParameter } from './http.request.js';
import { Operation, type OperationDoc } from './operation.decorator.js';
import { ProblemFilter } from './problem.filter.js';

const poolParam = { pool: poolNameSchema };
const leaseParams = { ...poolParam, lease: z.string() };

/** No strategy has leases yet: every call says so. */
function doc(summary: string, params: OperationDoc['params']): OperationDoc {
  return { summary, ...(params && { params }), answers: {}, problems: ['POOL_NOT_FOUND', 'NO_LEASE_LIFECYCLE'] };
}

/** Leases, for pools whose strategy has them. */
@ApiTags('leases')
@Controller('v1/pools/:pool/leases')
@UseFilters(ProblemFilter)
export class LeasesController {
  constructor(private readonly selection: SelectionService) {}

  @Get()
  @Operation(doc('List live leases', poolParam))
  list(@Req() request: HttpRequest) {
    return this.refuse(request);
  }

  @Post('extend')
  @HttpCode(200)
  @Operation(doc('Extend several leases', poolParam))
  extendBatch(@Req() request: HttpRequest) {
    return this.refuse(request);
  }

  @Get(':lease')
  @Operation(doc('Show a lease', leaseParams))
  get(@Req() request: HttpRequest) {
    return this.refuse(request);
  }

  @Delete(':lease')
  @Operation(doc('End a lease by force', leaseParams))
  force(@Req() request: HttpRequest) {
    return this.refuse(request);
  }

  @Post(':lease/complete')
  @HttpCode(200)
  @Operation(doc('Complete a lease', leaseParams))
  complete(@Req() request: HttpRequest) {
    return this.refuse(request);
  }

  @Post(':lease/abandon')
  @HttpCode(200)
  @Operation(doc('Abandon a lease', leaseParams))
  abandon(@Req() request: HttpRequest) {
    return this.refuse(request);
  }

  @Post(':lease/extend')
  @HttpCode(200)
  @Operation(doc('Extend a lease', leaseParams))
  extend(@Req() request: HttpRequest) {
    return this.refuse(request);
  }

  private refuse(request: HttpRequest): Promise<never> {
    return this.selection.requireLeaseLifecycle(pathParameter(request, 'pool'));
  }
}

import { Controller, Delete, Get, HttpCode, Patch, Post, Req, UseFilters } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import type { MemberChanges } from '../pool/member.js';
import { memberChangesSchema, memberPageRequestSchema } from '../pool/member.catalogue.js';
import { importOptionsSchema } from '../pool/member.importer.js';
import { memberIdSchema, memberListSchema } from '../pool/member.schema.js';
import { poolNameSchema } from '../pool/pool.settings.js';
import { PoolService } from '../pool/pool.service.js';
import { readJsonBody, readMemberSource } from './body.reader.js';
import { type HttpRequest, pathParameter } from './http.request.js';
import { Operation } from './operation.decorator.js';
import { ProblemFilter } from './problem.filter.js';
import { readQuery } from './query.reader.js';
import { importReportSchema, memberPageSchema, memberSchema } from './response.schemas.js';

const poolParam = { pool: poolNameSchema };
const memberParams = { ...poolParam, id: memberIdSchema };
const noQuery = z.strictObject({});
const removalQuerySchema = z.strictObject({
  forget: z.boolean().default(false).describe('Keep no history for a later return'),
});

const LIST_EXAMPLES = {
  'text/plain': 'socks5://user:pass@192.0.2.7:1080\n192.0.2.8:8080  # a comment\n',
  'application/x-ndjson': '{"host": "192.0.2.7", "port": 8080, "protocol": "http"}\n',
  'text/csv': 'ip,port,protocol,country\n192.0.2.7,8080,http,DE\n',
};

/** The members of a pool. */
@ApiTags('members')
@Controller('v1/pools/:pool/members')
@UseFilters(ProblemFilter)
export class MembersController {
  constructor(private readonly pools: PoolService) {}

  @Post()
  @HttpCode(200)
  @Operation({
    summary: 'Import a list of members',
    description:
      'The list is read and checked whole before the first write. Safe to repeat, also after it was cut off.',
    params: poolParam,
    query: importOptionsSchema,
    body: memberListSchema,
    bodyRequired: true,
    otherBodies: LIST_EXAMPLES,
    answers: { 200: importReportSchema },
    problems: [
      'POOL_NOT_FOUND',
      'IMPORT_RUNNING',
      'EMPTY_SOURCE',
      'COLUMNS_UNKNOWN',
      'PAYLOAD_TOO_LARGE',
      'UNSUPPORTED_MEDIA_TYPE',
    ],
  })
  async import(@Req() request: HttpRequest) {
    const options = readQuery(importOptionsSchema, request);
    return this.pools.importMembers(pathParameter(request, 'pool'), await readMemberSource(request), options);
  }

  @Get()
  @Operation({
    summary: 'List members',
    description: 'In the order of the bytes of their ids. Values are not shown.',
    params: poolParam,
    query: memberPageRequestSchema,
    answers: { 200: memberPageSchema },
    problems: ['POOL_NOT_FOUND'],
  })
  list(@Req() request: HttpRequest) {
    return this.pools.listMembers(pathParameter(request, 'pool'), readQuery(memberPageRequestSchema, request));
  }

  @Get(':id')
  @Operation({
    summary: 'Show a member',
    params: memberParams,
    answers: { 200: memberSchema },
    problems: ['POOL_NOT_FOUND', 'MEMBER_NOT_FOUND'],
  })
  get(@Req() request: HttpRequest) {
    readQuery(noQuery, request);
    return this.pools.getMember(pathParameter(request, 'pool'), pathParameter(request, 'id'));
  }

  @Patch(':id')
  @Operation({
    summary: 'Change a member',
    params: memberParams,
    body: memberChangesSchema,
    answers: { 200: memberSchema },
    problems: ['POOL_NOT_FOUND', 'MEMBER_NOT_FOUND'],
  })
  patch(@Req() request: HttpRequest) {
    readQuery(noQuery, request);
    return this.pools.patchMember(
      pathParameter(request, 'pool'),
      pathParameter(request, 'id'),
      readJsonBody(request) as MemberChanges,
    );
  }

  @Delete(':id')
  @HttpCode(204)
  @Operation({
    summary: 'Remove a member',
    description: 'Its history is kept for a later return, unless `forget` is set.',
    params: memberParams,
    query: removalQuerySchema,
    answers: { 204: null },
    problems: ['POOL_NOT_FOUND', 'MEMBER_NOT_FOUND'],
  })
  remove(@Req() request: HttpRequest): Promise<void> {
    return this.pools.removeMember(
      pathParameter(request, 'pool'),
      pathParameter(request, 'id'),
      readQuery(removalQuerySchema, request),
    );
  }
}

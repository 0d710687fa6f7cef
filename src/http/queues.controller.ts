import { Controller, Delete, Get, HttpCode, Patch, Post, Put, Req, Res, UseFilters } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { DispatchService } from '../dispatch/dispatch.service.js';
import { type QueueChanges, queueChangesSchema, queueNameSchema } from '../dispatch/queue.settings.js';
import { pageRequestSchema } from '../pool/page.js';
import { readJsonBody, requireNothing } from './body.reader.js';
import { queuePageSchema, queueSchema } from './dispatch.schemas.js';
import { type HttpRequest, pathParameter } from './http.request.js';
import { Operation } from './operation.decorator.js';
import { ProblemFilter } from './problem.filter.js';
import { readQuery } from './query.reader.js';

const params = { queue: queueNameSchema };
const nothing = z.strictObject({});
const deleteQuerySchema = z.strictObject({
  force: z.boolean().optional().describe('Also where jobs wait: they are never started then'),
});

/** Queues of jobs and their settings. */
@ApiTags('queues')
@Controller('v1/queues')
@UseFilters(ProblemFilter)
export class QueuesController {
  constructor(private readonly dispatch: DispatchService) {}

  @Get()
  @Operation({ summary: 'List queues', query: pageRequestSchema, answers: { 200: queuePageSchema } })
  list(@Req() request: HttpRequest) {
    return this.dispatch.list(readQuery(pageRequestSchema, request));
  }

  @Get(':queue')
  @Operation({ summary: 'Show a queue', params, answers: { 200: queueSchema }, problems: ['QUEUE_NOT_FOUND'] })
  get(@Req() request: HttpRequest) {
    readQuery(nothing, request);
    return this.dispatch.get(pathParameter(request, 'queue'));
  }

  @Put(':queue')
  @Operation({
    summary: 'Create a queue, or change its settings',
    description: 'A new one needs `pool`, `limit` and `launcher`; an absent field keeps its value. Safe to repeat.',
    params,
    body: queueChangesSchema,
    answers: { 200: queueSchema, 201: queueSchema },
    problems: ['POOL_NOT_FOUND', 'LAUNCHER_UNKNOWN', 'QUEUE_BUSY'],
  })
  async put(@Req() request: HttpRequest, @Res({ passthrough: true }) response: { status(code: number): unknown }) {
    readQuery(nothing, request);
    const changes = readJsonBody(request) as QueueChanges;
    const { created, queue } = await this.dispatch.put(pathParameter(request, 'queue'), changes);
    response.status(created ? 201 : 200);
    return queue;
  }

  @Patch(':queue')
  @Operation({
    summary: 'Change settings of a queue',
    description:
      'A lower `limit` ends nothing: nothing more is started until fewer run. A higher one has effect at once.',
    params,
    body: queueChangesSchema,
    answers: { 200: queueSchema },
    problems: ['QUEUE_NOT_FOUND', 'POOL_NOT_FOUND', 'LAUNCHER_UNKNOWN'],
  })
  patch(@Req() request: HttpRequest) {
    readQuery(nothing, request);
    return this.dispatch.patch(pathParameter(request, 'queue'), readJsonBody(request) as QueueChanges);
  }

  @Post(':queue/pause')
  @HttpCode(200)
  @Operation({
    summary: 'Start nothing more until the queue is resumed',
    description: 'What runs goes on. Safe to repeat.',
    params,
    body: nothing,
    answers: { 200: queueSchema },
    problems: ['QUEUE_NOT_FOUND'],
  })
  pause(@Req() request: HttpRequest) {
    requireNothing(request);
    return this.dispatch.pause(pathParameter(request, 'queue'));
  }

  @Post(':queue/resume')
  @HttpCode(200)
  @Operation({
    summary: 'Start jobs of the queue again',
    params,
    body: nothing,
    answers: { 200: queueSchema },
    problems: ['QUEUE_NOT_FOUND'],
  })
  resume(@Req() request: HttpRequest) {
    requireNothing(request);
    return this.dispatch.resume(pathParameter(request, 'queue'));
  }

  @Delete(':queue')
  @HttpCode(204)
  @Operation({
    summary: 'Delete a queue with its requests',
    description: 'Not while jobs are starting or running. Safe to repeat.',
    params,
    query: deleteQuerySchema,
    answers: { 204: null },
    problems: ['QUEUE_NOT_FOUND', 'QUEUE_BUSY'],
  })
  async delete(@Req() request: HttpRequest): Promise<void> {
    const { force = false } = readQuery(deleteQuerySchema, request);
    await this.dispatch.delete(pathParameter(request, 'queue'), { force });
  }
}

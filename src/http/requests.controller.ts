import { Controller, Get, HttpCode, Post, Req, UseFilters } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { DispatchService } from '../dispatch/dispatch.service.js';
import { type JobRequest, jobRequestSchema } from '../dispatch/job.types.js';
import { queueNameSchema } from '../dispatch/queue.settings.js';
import { pageRequestSchema } from '../pool/page.js';
import { readJsonBody, requireNothing } from './body.reader.js';
import { jobPageSchema, jobSchema, receiptSchema, requestPageSchema, requestSchema } from './dispatch.schemas.js';
import { type HttpRequest, pathParameter } from './http.request.js';
import { Operation } from './operation.decorator.js';
import { ProblemFilter } from './problem.filter.js';
import type { ProblemCode } from './problem.table.js';
import { readQuery } from './query.reader.js';

const queueParam = { queue: queueNameSchema };
const requestParams = { ...queueParam, request: z.string().describe('Id of the request') };
const jobParams = { ...queueParam, job: z.string().describe('Id of the job') };
const nothing = z.strictObject({});
const OF_REQUEST: ProblemCode[] = ['QUEUE_NOT_FOUND', 'REQUEST_NOT_FOUND'];
const OF_JOB: ProblemCode[] = ['QUEUE_NOT_FOUND', 'JOB_NOT_FOUND'];

/** Requests for jobs, and the jobs. */
@ApiTags('queues')
@Controller('v1/queues/:queue')
@UseFilters(ProblemFilter)
export class RequestsController {
  constructor(private readonly dispatch: DispatchService) {}

  @Post('requests')
  @HttpCode(202)
  @Operation({
    summary: 'Ask for jobs',
    description: 'They are taken in whole, or not at all. The same `requestId` twice is one request.',
    params: queueParam,
    body: jobRequestSchema,
    bodyRequired: true,
    answers: { 202: receiptSchema },
    problems: ['QUEUE_NOT_FOUND', 'REQUEST_ID_REUSED', 'QUEUE_FULL', 'PAYLOAD_TOO_LARGE'],
  })
  submit(@Req() request: HttpRequest) {
    readQuery(nothing, request);
    return this.dispatch.submit(pathParameter(request, 'queue'), readJsonBody(request) as JobRequest);
  }

  @Get('requests')
  @Operation({
    summary: 'List requests',
    description: 'In the order of their arrival.',
    params: queueParam,
    query: pageRequestSchema,
    answers: { 200: requestPageSchema },
    problems: ['QUEUE_NOT_FOUND'],
  })
  list(@Req() request: HttpRequest) {
    return this.dispatch.listRequests(pathParameter(request, 'queue'), readQuery(pageRequestSchema, request));
  }

  @Get('requests/:request')
  @Operation({
    summary: 'Show a request',
    params: requestParams,
    answers: { 200: requestSchema },
    problems: OF_REQUEST,
  })
  get(@Req() request: HttpRequest) {
    readQuery(nothing, request);
    return this.dispatch.getRequest(pathParameter(request, 'queue'), pathParameter(request, 'request'));
  }

  @Get('requests/:request/jobs')
  @Operation({
    summary: 'List the jobs of a request',
    params: requestParams,
    query: pageRequestSchema,
    answers: { 200: jobPageSchema },
    problems: OF_REQUEST,
  })
  listJobs(@Req() request: HttpRequest) {
    const page = readQuery(pageRequestSchema, request);
    return this.dispatch.listJobs(pathParameter(request, 'queue'), pathParameter(request, 'request'), page);
  }

  @Post('requests/:request/cancel')
  @HttpCode(202)
  @Operation({
    summary: 'Cancel a request',
    description: 'Its jobs that wait end at once, those that have begun when their nodes have ended them.',
    params: requestParams,
    body: nothing,
    answers: { 202: requestSchema },
    problems: OF_REQUEST,
  })
  cancel(@Req() request: HttpRequest) {
    requireNothing(request);
    return this.dispatch.cancelRequest(pathParameter(request, 'queue'), pathParameter(request, 'request'));
  }

  @Get('jobs/:job')
  @Operation({ summary: 'Show a job', params: jobParams, answers: { 200: jobSchema }, problems: OF_JOB })
  getJob(@Req() request: HttpRequest) {
    readQuery(nothing, request);
    return this.dispatch.getJob(pathParameter(request, 'queue'), pathParameter(request, 'job'));
  }

  @Post('jobs/:job/cancel')
  @HttpCode(202)
  @Operation({
    summary: 'Cancel a job',
    description: 'One that waits ends at once, one that has begun when its node has ended it.',
    params: jobParams,
    body: nothing,
    answers: { 202: jobSchema },
    problems: OF_JOB,
  })
  cancelJob(@Req() request: HttpRequest) {
    requireNothing(request);
    return this.dispatch.cancelJob(pathParameter(request, 'queue'), pathParameter(request, 'job'));
  }
}

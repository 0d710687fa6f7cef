import { Controller, Get, UseFilters } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { SelectionService } from '../selection/selection.service.js';
import { Operation } from './operation.decorator.js';
import { ProblemFilter } from './problem.filter.js';
import { healthSchema } from './response.schemas.js';

const OK = { status: 'ok' } as const;

/** For whoever watches over the process. */
@ApiTags('service')
@Controller('health')
@UseFilters(ProblemFilter)
export class HealthController {
  constructor(private readonly selection: SelectionService) {}

  @Get('live')
  @Operation({ summary: 'Whether the process answers', answers: { 200: healthSchema } })
  live(): typeof OK {
    return OK;
  }

  @Get('ready')
  @Operation({
    summary: 'Whether work can be taken',
    description: '503 while Redis is away and while the service shuts down.',
    answers: { 200: healthSchema },
    problems: ['SHUTTING_DOWN'],
  })
  async ready(): Promise<typeof OK> {
    await this.selection.requireReady();
    return OK;
  }
}

import { type DynamicModule, Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { parseInput } from '../errors/parse.input.js';
import { DueIndex } from '../pool/due.index.js';
import type { RedisClient } from '../redis/redis.client.js';
import type { RedisOptions } from '../redis/redis.options.js';
import { REDIS_CLIENT, REDIS_OPTIONS } from '../redis/redis.tokens.js';
import { DueTicker } from '../selection/leases/due.ticker.js';
import { DispatchEvents } from './dispatch.events.js';
import { DispatchLine } from './dispatch.line.js';
import { DISPATCH_OPTIONS, type DispatchOptionsInput, dispatchOptionsSchema } from './dispatch.options.js';
import { DispatchService } from './dispatch.service.js';
import { JobBeats } from './job.beats.js';
import { JobRunner } from './job.runner.js';
import { JobStore } from './job.store.js';
import { HttpLauncher } from './launcher/http.launcher.js';
import { LauncherCalls } from './launcher/launcher.calls.js';
import { LauncherRegistry } from './launcher/launcher.registry.js';
import { ScrapydLauncher } from './launcher/scrapyd.launcher.js';
import { NodeFinder } from './node.finder.js';
import { NodePolls } from './node.polls.js';
import { NodeRests } from './node.rests.js';
import { QueueChecks } from './queue.checks.js';
import { QueueDirectory } from './queue.directory.js';
import { QueueKeyNames } from './queue.keys.js';
import { QueueUpkeep } from './queue.upkeep.js';
import { RequestCatalogue } from './request.catalogue.js';
import { RequestIntake } from './request.intake.js';
import { RunQueue } from './run.queue.js';
import { RunWorker } from './run.worker.js';
import { TurnKeeper } from './turn.keeper.js';

/**
 * Jobs that are started on the members of a pool, only so many at once: `DispatchModule.forRoot(selection)` beside the
 * `SelectionModule.forRoot({ … })` that it is given. Inject `DispatchService` to set up queues and to submit requests, and
 * `DispatchEvents` to hear what becomes of jobs.
 */
@Module({})
export class DispatchModule {
  /**
   * @param selection the SelectionModule whose pools hold the nodes
   * @throws ValidationFailedError
   */
  static forRoot(selection: DynamicModule, options: DispatchOptionsInput = {}): DynamicModule {
    return {
      module: DispatchModule,
      imports: [selection, DiscoveryModule],
      providers: [
        { provide: DISPATCH_OPTIONS, useValue: parseInput(dispatchOptionsSchema, options) },
        {
          provide: QueueKeyNames,
          inject: [REDIS_OPTIONS],
          useFactory: ({ keyPrefix }: RedisOptions) => new QueueKeyNames(keyPrefix),
        },
        {
          provide: DueIndex,
          inject: [REDIS_CLIENT, QueueKeyNames],
          useFactory: (redis: RedisClient, names: QueueKeyNames) => new DueIndex(redis, names.due()),
        },
        {
          provide: DueTicker,
          inject: [REDIS_CLIENT, QueueKeyNames],
          useFactory: (redis: RedisClient, names: QueueKeyNames) => new DueTicker(redis, names.due()),
        },
        { provide: ScrapydLauncher, useFactory: () => new ScrapydLauncher() },
        { provide: HttpLauncher, useFactory: () => new HttpLauncher() },
        LauncherRegistry,
        LauncherCalls,
        QueueDirectory,
        JobStore,
        TurnKeeper,
        NodeRests,
        NodeFinder,
        NodePolls,
        JobBeats,
        DispatchEvents,
        RunQueue,
        DispatchLine,
        JobRunner,
        RunWorker,
        QueueUpkeep,
        RequestIntake,
        RequestCatalogue,
        QueueChecks,
        DispatchService,
      ],
      exports: [DispatchService, DispatchEvents],
    };
  }
}

import { type DynamicModule, Module } from '@nestjs/common';
import { ExplainController } from './explain.controller.js';
import { HealthController } from './health.controller.js';
import { LeasesController } from './leases.controller.js';
import { MembersController } from './members.controller.js';
import { OutcomesController } from './outcomes.controller.js';
import { PoolsController } from './pools.controller.js';
import { ProbesController } from './probes.controller.js';
import { SelectionsController } from './selections.controller.js';

/** The REST API, for any Nest application: `RestModule.register(SelectionModule.forRoot({ … }))`. */
@Module({})
export class RestModule {
  /** @param selection the SelectionModule whose pools the API serves */
  static register(selection: DynamicModule): DynamicModule {
    return {
      module: RestModule,
      imports: [selection],
      controllers: [
        PoolsController,
        MembersController,
        OutcomesController,
        ExplainController,
        ProbesController,
        SelectionsController,
        LeasesController,
        HealthController,
      ],
    };
  }
}

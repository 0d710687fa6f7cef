import { type DynamicModule, Module } from '@nestjs/common';
import { ExplainController } from './explain.controller.js';
import { HealthController } from './health.controller.js';
import { LeasesController } from './leases.controller.js';
import { MembersController } from './members.controller.js';
import { OutcomesController } from './outcomes.controller.js';
import { PoolsController } from './pools.controller.js';
import { ProbesController } from './probes.controller.js';
import { QueuesController } from './queues.controller.js';
import { RequestsController } from './requests.controller.js';
import { SelectionsController } from './selections.controller.js';

/**
 * The REST API, for any Nest application: `RestModule.register(selection)` with the `SelectionModule.forRoot({ … })` of the application,
 * and its `DispatchModule.forRoot(selection)` where it has queues.
 */
@Module({})
export class RestModule {
  /**
   * @param selection the SelectionModule whose pools the API serves
   * @param dispatch the DispatchModule whose queues it serves
   */
  static register(selection: DynamicModule, dispatch?: DynamicModule): DynamicModule {
    return {
      module: RestModule,
      imports: [selection, ...(dispatch ? [dispatch] : [])],
      controllers: [
        PoolsController,
        MembersController,
        OutcomesController,
        ExplainController,
        ProbesController,
        SelectionsController,
        LeasesController,
        HealthController,
        ...(dispatch ? [QueuesController, RequestsController] : []),
      ],
    };
  }
}

import { type DynamicModule, Module } from '@nestjs/common';
import type { Environment } from './config/environment.js';
import { DispatchModule } from './dispatch/dispatch.module.js';
import { HomeController } from './http/home.controller.js';
import { POOLS_SETUP_OPTIONS, poolsSetupOptions } from './pool-setup/pools.setup.options.js';
import { PoolsFileSetup } from './pool-setup/pools.setup.js';
import { RestModule } from './http/rest.module.js';
import { SelectionModule } from './selection/selection.module.js';

/** The service: selection, the catalogue and dispatch, with the REST API in front of them. */
@Module({})
export class AppModule {
  static register({ redis, defaultStrategy, importMaxBytes, takeoverMs }: Environment): DynamicModule {
    const selection = SelectionModule.forRoot({ redis, defaultStrategy });
    const dispatch = DispatchModule.forRoot(selection, { takeoverMs });
    return {
      module: AppModule,
      imports: [selection, dispatch, RestModule.register(selection, dispatch)],
      controllers: [HomeController],
      providers: [{ provide: POOLS_SETUP_OPTIONS, useValue: poolsSetupOptions(importMaxBytes) }, PoolsFileSetup],
    };
  }
}

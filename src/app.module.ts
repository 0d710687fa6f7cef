import { type DynamicModule, Module } from '@nestjs/common';
import type { Environment } from './config/environment.js';
import { HomeController } from './http/home.controller.js';
import { RestModule } from './http/rest.module.js';
import { SelectionModule } from './selection/selection.module.js';

/** The service: selection and the catalogue, with the REST API in front of them. */
@Module({})
export class AppModule {
  static register({ redis, defaultStrategy }: Environment): DynamicModule {
    const selection = SelectionModule.forRoot({ redis, defaultStrategy });
    return { module: AppModule, imports: [selection, RestModule.register(selection)], controllers: [HomeController] };
  }
}

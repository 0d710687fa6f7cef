import { Controller, Get } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { readVersion } from './api.document.js';

const HOME = {
  name: 'evenhand',
  version: readVersion(),
  docs: '/docs',
  openapi: '/openapi.json',
  ready: '/health/ready',
};

/** Says what this is, and where to read on. */
@ApiExcludeController()
@Controller()
export class HomeController {
  @Get()
  home(): typeof HOME {
    return HOME;
  }
}

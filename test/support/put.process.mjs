// A process that changes the settings of a pool, with the built code: what a test kills on the way.
// Arguments: Redis URL, pool, settings as JSON. Ends when the change is done.
import { NestFactory } from '@nestjs/core';
import { PoolService, SelectionModule } from '../../dist/index.js';

const [url, pool, settings] = process.argv.slice(2);
const module = SelectionModule.forRoot({ redis: { connection: { url } } });
const app = await NestFactory.createApplicationContext(module, { logger: false });
await app.get(PoolService).put(pool, JSON.parse(settings));
await app.close();

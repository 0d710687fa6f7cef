// A worker in a process of its own, with the built code: what worker.processes.ts starts.
// Arguments: Redis URL, pool, calls in flight, selections to make (0: until told to end).
// Takes {ask: true} and {end: true} by message; answers with what it has done so far.
import { NestFactory } from '@nestjs/core';
import { setTimeout as sleep } from 'node:timers/promises';
import { SelectionModule, SelectionService } from '../../dist/index.js';

const [url, pool, atOnce, selections] = process.argv.slice(2);
/** A worker that Redis refuses asks again after this long. */
const AFTER_FAILURE_MS = 5;

const module = SelectionModule.forRoot({ redis: { connection: { url } } });
const app = await NestFactory.createApplicationContext(module, { logger: false });
const service = app.get(SelectionService);

const tally = {};
const failures = {};
let delivered = 0;
let left = Number(selections) || Infinity;
let ending = false;

process.on('message', ({ end }) => {
  if (end) ending = true;
  else process.send({ tally, failures, delivered });
});
await Promise.all(Array.from({ length: Number(atOnce) }, work));
await app.close();
process.send({ tally, failures, delivered }, () => process.disconnect());

async function work() {
  while (!ending && left > 0) {
    left -= 1;
    try {
      const { selection } = await service.select(pool);
      tally[selection.member.id] = (tally[selection.member.id] ?? 0) + 1;
      delivered += 1;
    } catch (error) {
      const name = error.code ?? error.message;
      failures[name] = (failures[name] ?? 0) + 1;
      await sleep(AFTER_FAILURE_MS);
    }
  }
}

// A process that holds two leases, with the built code: one by `hold`, one by `withMember`. Ends with a code other than 0
// when a rejection is left unhandled. Arguments: Redis URL, pool, TTL and command timeout in ms.
// Sends {held: [lease ids]}, {lost: 'hold' | 'work'} when a signal fires; takes {end: true}, answers {ended: {hold, work}}
// with what the end of each came to, and ends.
import { NestFactory } from '@nestjs/core';
import { SelectionModule, SelectionService } from '../../dist/index.js';

const [url, pool, ttlMs, commandTimeoutMs] = process.argv.slice(2);
const request = { ttlMs: Number(ttlMs) };

const module = SelectionModule.forRoot({
  redis: { connection: { url }, commandTimeoutMs: Number(commandTimeoutMs) },
});
const app = await NestFactory.createApplicationContext(module, { logger: false });
const service = app.get(SelectionService);

const handle = await service.hold(pool, request);
tellWhenLost('hold', handle.signal);
let begin;
const begun = new Promise((resolve) => (begin = resolve));
const working = service
  .withMember(pool, request, async ({ lease }, signal) => {
    tellWhenLost('work', signal);
    begin(lease.id);
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    throw new Error('the work was broken off');
  })
  .then(() => 'done', told);
process.send({ held: [handle.lease.id, await begun] });

process.once('message', async () => {
  const hold = await handle.complete().then(() => 'completed', told);
  const work = await working;
  await app.close();
  process.send({ ended: { hold, work } }, () => process.disconnect());
});

function tellWhenLost(what, signal) {
  signal.addEventListener('abort', () => process.send({ lost: what }));
}

function told(error) {
  return error.code ?? error.message;
}

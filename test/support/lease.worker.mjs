// A process that takes leases, with the built code: what lease.processes.ts starts. Argument: Redis URL.
// Takes {call, method, args} by message and answers {call, value} or {call, error}. Methods: those of SelectionService,
// `serve` (a wait whose lease is completed at once), `loop` (leases taken and completed until told to end), `report`, `end`.
import { NestFactory } from '@nestjs/core';
import { setTimeout as sleep } from 'node:timers/promises';
import { SelectionModule, SelectionService } from '../../dist/index.js';

const [url] = process.argv.slice(2);
const AFTER_NOTHING_MS = 5;

const module = SelectionModule.forRoot({ redis: { connection: { url } } });
const app = await NestFactory.createApplicationContext(module, { logger: false });
const service = app.get(SelectionService);

/** What the loops have come to. `violations` are answers that cannot be right by this process's own clock. */
const done = { taken: 0, completed: 0, late: 0, nothing: 0, failures: {}, violations: [] };
let ending = false;
const loops = [];

const methods = {
  serve: async (pool, request) => {
    const { selection } = await service.select(pool, request);
    if (selection) await service.complete(pool, selection.lease.id);
    return selection?.lease ?? null;
  },
  loop: async (options) => {
    for (let n = 0; n < options.atOnce; n++) loops.push(loop(options));
  },
  report: async () => done,
  end: async () => {
    ending = true;
    await Promise.all(loops);
    return done;
  },
};

process.on('message', async ({ call, method, args }) => {
  try {
    const run = methods[method] ?? service[method].bind(service);
    process.send({ call, value: await run(...args) });
  } catch (error) {
    process.send({ call, error: { code: error.code, endedAs: error.endedAs, message: error.message } });
  }
});
process.on('disconnect', () => process.exit());
process.send({ ready: true });

async function loop({ pool, ttlMs, waitMs, holdMs }) {
  while (!ending) {
    try {
      const askedMs = performance.now();
      const { selection } = await service.select(pool, { ttlMs, waitMs });
      if (!selection) {
        done.nothing += 1;
        await sleep(AFTER_NOTHING_MS);
        continue;
      }
      done.taken += 1;
      const lentMs = performance.now();
      if (holdMs > 0) await sleep(Math.random() * holdMs);
      await complete(pool, selection.lease.id, { askedMs, lentMs, ttlMs });
    } catch (error) {
      const name = error.code ?? error.message;
      done.failures[name] = (done.failures[name] ?? 0) + 1;
      await sleep(AFTER_NOTHING_MS);
    }
  }
}

/** A lease that was asked for less than its time ago is live, and one that was received more than its time ago is not. */
async function complete(pool, lease, { askedMs, lentMs, ttlMs }) {
  const sentMs = performance.now();
  try {
    const { status } = await service.complete(pool, lease);
    done.completed += 1;
    if (status !== 'completed') done.violations.push(`${lease}: ${status}, but nobody else has its id`);
    if (sentMs > lentMs + ttlMs) done.violations.push(`${lease}: completed after its time`);
  } catch (error) {
    if (error.code !== 'LEASE_EXPIRED') throw error;
    done.late += 1;
    if (performance.now() < askedMs + ttlMs) done.violations.push(`${lease}: expired before its time`);
  }
}

// What lease.process.mjs starts: told over IPC how many cycles to make and how many at once, it answers with the microseconds
// that a cycle took.
import {
  bottleneckCycle,
  bullmqCycle,
  evenhandCycle,
  openClient,
  redlockCycle,
  semaphoreCycle,
} from './lease.contestants.mjs';
import { microsecondsPerCall } from './rounds.mjs';
import { startHost } from './selection.host.mjs';

const [name, url, pool, slots] = process.argv.slice(2);

const contestants = {
  evenhand: async () => evenhandCycle(await startHost(url), pool),
  'redis-semaphore': async () => semaphoreCycle(await openClient(url), Number(slots)),
  redlock: async () => redlockCycle(await openClient(url), Number(slots)),
  bottleneck: async () => (await bottleneckCycle(url, Number(slots))).cycle,
  bullmq: async () => (await bullmqCycle(url, Number(slots))).cycle,
};

const cycle = await contestants[name]();
process.on('message', async ({ cycles, inFlight }) => {
  process.send(await microsecondsPerCall(cycle, cycles, inFlight));
});
process.on('disconnect', () => process.exit());
process.send('ready');

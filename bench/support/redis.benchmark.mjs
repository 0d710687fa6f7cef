import { runTool } from './tool.process.mjs';

/** Microseconds a call as redis-benchmark counts them, with so many clients and so many calls of each in one write. */
export async function redisBenchmark(port, { calls, clients, pipeline = 1 }, command) {
  const load = ['-n', calls, '-c', clients, '-P', pipeline];
  const csv = await runTool('redis-benchmark', ['-p', port, ...load, '-q', '--csv', ...command], 'redis-tools');
  // The last line: the command, how many of it a second, and latencies, all in quotes.
  const [, rate] = csv.trim().split('\n').at(-1).split('","');
  return 1_000_000 / Number(rate);
}

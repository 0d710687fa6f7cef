import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from './free.port.mjs';

// Whatever ends this process ends the servers that it started.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

/** Starts a redis-server of its own on a free loopback port, which keeps nothing on disk; `stop` ends it. */
export async function startRedis() {
  const port = await freePort();
  const dir = mkdtempSync(join(tmpdir(), 'evenhand-bench-'));
  const args = ['--port', port, '--bind', '127.0.0.1', '--dir', dir, '--save', '', '--appendonly', 'no'];
  const server = spawn('redis-server', args.map(String), { stdio: 'ignore' });
  const end = () => {
    server.kill('SIGKILL');
    rmSync(dir, { recursive: true, force: true });
  };
  process.once('exit', end);
  server.once('error', (error) => {
    console.error(`redis-server cannot be started: ${error.message}`);
    process.exit(1);
  });
  const client = new Redis({ host: '127.0.0.1', port, retryStrategy: () => 20 });
  client.on('error', () => undefined);
  await new Promise((resolve) => client.once('ready', resolve));
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    /** A bare client with the settings that ioredis comes with, but for the retries while the server starts. */
    client,
    async stop() {
      client.disconnect();
      const ended = once(server, 'exit');
      end();
      await ended;
      process.off('exit', end);
    },
  };
}

/** Calls of a command so far and the microseconds that Redis has spent on them. */
export async function commandStats(client, command) {
  const found = new RegExp(`cmdstat_${command}:calls=(\\d+),usec=(\\d+)`).exec(await client.info('commandstats'));
  return { calls: Number(found?.[1] ?? 0), usec: Number(found?.[2] ?? 0) };
}

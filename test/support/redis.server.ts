import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { findServerProgram } from '../../src/redis/embedded/server.program.js';
import { exited, killAtExit } from './child.processes.js';
import { freePort } from './free.port.js';
import { waitUntil } from './wait.until.js';

export interface StartRedisOptions {
  /** More arguments for redis-server, such as `['--appendonly', 'yes']`. */
  args?: string[];
  /** The server's directory; a new temporary one if absent, which `stop` removes. */
  dir?: string;
  port?: number;
  /** Whether to run as a sentinel: `args[0]` is then its configuration file. */
  sentinel?: boolean;
  /** What clients need on top of the port, such as a password. */
  credentials?: { username?: string; password?: string };
}

/** Starts a redis-server of its own on a free loopback port and waits until it answers. */
export async function startRedis(options: StartRedisOptions = {}): Promise<RedisServer> {
  const fixed = options.port !== undefined;
  for (let attempt = 1; ; attempt += 1) {
    const server = new RedisServer(options.port ?? (await freePort()), options);
    try {
      await server.start();
      return server;
    } catch (error) {
      await server.stop();
      // Somebody else took the port in between.
      if (fixed || attempt === 5) throw error;
    }
  }
}

export class RedisServer {
  readonly dir: string;
  readonly url: string;
  private readonly clients: Redis[] = [];
  private child: ChildProcess | undefined;

  constructor(
    readonly port: number,
    private readonly options: StartRedisOptions,
  ) {
    this.dir = options.dir ?? mkdtempSync(join(tmpdir(), 'evenhand-redis-'));
    this.url = `redis://127.0.0.1:${port}`;
  }

  get pid(): number {
    const pid = this.child?.pid;
    if (pid === undefined) throw new Error('the server was not started');
    return pid;
  }

  /** A plain client for looking at the server from a test; closed by `stop`. */
  client(): Redis {
    const client = new Redis({
      host: '127.0.0.1',
      port: this.port,
      ...this.options.credentials,
      retryStrategy: () => 50,
    });
    client.on('error', () => undefined);
    this.clients.push(client);
    return client;
  }

  async start(): Promise<void> {
    this.child = spawn(findServerProgram() ?? 'redis-server', this.arguments(), { stdio: 'ignore', cwd: this.dir });
    killAtExit(this.child);
    const probe = new Redis({
      ...{ host: '127.0.0.1', port: this.port, ...this.options.credentials },
      retryStrategy: () => 20,
      enableReadyCheck: !this.options.sentinel,
    });
    probe.on('error', () => undefined);
    const hasEnded = () => this.child?.exitCode != null;
    const isMine = async () => (await probe.info('server')).includes(`process_id:${this.pid}\r`);
    try {
      await waitUntil(() => hasEnded() || isMine(), { what: `redis-server on port ${this.port}` });
    } finally {
      probe.disconnect();
    }
    if (hasEnded()) throw new Error(`redis-server ended with code ${this.child.exitCode}`);
  }

  /** Sends a signal; with one that ends the server, waits for its end. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const { child } = this;
    if (!child) return;
    child.kill(signal);
    if (signal === 'SIGKILL' || signal === 'SIGTERM') await exited(child);
  }

  /** Starts it again on the same port and directory, after `kill`. */
  async restart(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    await this.kill(signal);
    await this.start();
  }

  /** The server stalls: connections stay open and get no answer. */
  pause(): void {
    process.kill(this.pid, 'SIGSTOP');
  }

  resume(): void {
    process.kill(this.pid, 'SIGCONT');
  }

  async stop(): Promise<void> {
    for (const client of this.clients) client.disconnect();
    await this.kill('SIGKILL');
    if (this.options.dir === undefined) rmSync(this.dir, { recursive: true, force: true });
  }

  private arguments(): string[] {
    const { args = [], sentinel } = this.options;
    const own = ['--port', String(this.port), '--bind', '127.0.0.1', '--dir', this.dir];
    if (sentinel) return [...args, '--sentinel', ...own];
    return [...own, '--save', '', '--appendonly', 'no', ...args];
  }
}

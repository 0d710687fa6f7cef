import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { exited, killAtExit } from './child.processes.js';

type Message = { ready: true } | { failed: string } | { id: number; result?: unknown; error?: string };

const PROGRAM = fileURLToPath(new URL('redis.service.process.mjs', import.meta.url));

/** A process with an embedded Redis, which a test may kill; the built code in the leader of a process group. */
export class RedisService {
  /** What it logged. */
  output = '';
  private readonly waiting = new Map<number, (message: { result?: unknown; error?: string }) => void>();
  private lastId = 0;

  private constructor(
    private readonly child: ChildProcess,
    private readonly started: { resolve: () => void; reject: (error: Error) => void },
  ) {
    killAtExit(child);
    const collect = (data: Buffer): void => void (this.output += data.toString());
    child.stdout?.on('data', collect);
    child.stderr?.on('data', collect);
    child.on('message', (message: Message) => this.receive(message));
    child.once('exit', () => this.abandonWaiting());
  }

  /** @throws Error with the message with which the service gave up */
  static async start(dataDir: string, env: NodeJS.ProcessEnv = {}): Promise<RedisService> {
    const { NODE_OPTIONS: _testsOwn, ...inherited } = process.env;
    const child = fork(PROGRAM, [dataDir], {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      execArgv: [],
      env: { ...inherited, ...env },
    });
    return new Promise((resolve, reject) => {
      const service: RedisService = new RedisService(child, { resolve: () => resolve(service), reject });
    });
  }

  get pid(): number {
    return this.child.pid!;
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** Sends one Redis command through the service's client. */
  call(...command: string[]): Promise<unknown> {
    const id = (this.lastId += 1);
    return new Promise((resolve, reject) => {
      this.waiting.set(id, ({ result, error }) => (error === undefined ? resolve(result) : reject(new Error(error))));
      this.child.send({ id, command });
    });
  }

  async redisPid(): Promise<number> {
    return Number(/process_id:(\d+)/.exec(String(await this.call('INFO', 'server')))?.[1]);
  }

  /** Ends it as its application would. */
  async stop(): Promise<void> {
    if (!this.hasEnded && this.child.connected) this.child.send({ stop: true });
    await exited(this.child);
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await exited(this.child);
  }

  /** What Ctrl-C in a terminal does: the signal goes to the whole process group. */
  async interrupt(): Promise<void> {
    process.kill(-this.pid, 'SIGINT');
    await exited(this.child);
  }

  private receive(message: Message): void {
    if ('ready' in message) return this.started.resolve();
    if ('failed' in message) return this.started.reject(new Error(message.failed));
    this.waiting.get(message.id)?.(message);
    this.waiting.delete(message.id);
  }

  private abandonWaiting(): void {
    this.started.reject(new Error(`the service ended: ${this.output}`));
    for (const answer of this.waiting.values()) answer({ error: 'the service ended' });
    this.waiting.clear();
  }
}

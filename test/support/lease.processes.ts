import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Lease, SelectionRequest, SelectionResult } from '../../src/selection/selection.types.js';
import { exited, killAtExit } from './child.processes.js';

/** What the loops of a process have come to. */
export interface LoopReport {
  taken: number;
  completed: number;
  /** Completions that were answered with LEASE_EXPIRED. */
  late: number;
  /** Selections that came to nothing. */
  nothing: number;
  /** Error code -> calls that failed with it. */
  failures: Record<string, number>;
  /** Answers that cannot be right by the process's own clock. */
  violations: string[];
}

export interface LoopOptions {
  pool: string;
  ttlMs: number;
  waitMs: number;
  /** A lease is held for up to this long. */
  holdMs: number;
  atOnce: number;
}

interface Answer {
  ready?: true;
  call: number;
  value?: unknown;
  error?: { code?: string; message: string };
}

const PROGRAM = fileURLToPath(new URL('lease.worker.mjs', import.meta.url));

/** A process that takes leases as it is told. */
export class LeaseProcess {
  private readonly pending = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();
  private calls = 0;
  private log = '';

  private constructor(private readonly child: ChildProcess) {
    killAtExit(child);
    child.on('message', (answer: Answer) => this.take(answer));
    child.stderr?.on('data', (data: Buffer) => (this.log += data.toString()));
    child.once('exit', () => {
      for (const { reject } of this.pending.values()) reject(new Error(`the process has ended: ${this.log}`));
    });
  }

  static async start(url: string): Promise<LeaseProcess> {
    const { NODE_OPTIONS: _testsOwn, ...env } = process.env;
    const child = fork(PROGRAM, [url], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'], execArgv: [], env });
    const started = new LeaseProcess(child);
    await new Promise<void>((resolve, reject) => {
      child.once('message', () => resolve());
      child.once('exit', () => reject(new Error(`the process did not start: ${started.log}`)));
    });
    return started;
  }

  static startAll(url: string, count: number): Promise<LeaseProcess[]> {
    return Promise.all(Array.from({ length: count }, () => LeaseProcess.start(url)));
  }

  select(pool: string, request: SelectionRequest = {}): Promise<SelectionResult> {
    return this.ask('select', pool, request);
  }

  /** Selects, and expects to get something. */
  async lend(pool: string, request: SelectionRequest = {}): Promise<Lease> {
    const { selection, reason } = await this.select(pool, request);
    if (!selection?.lease) throw new Error(`nothing lent: ${reason}`);
    return selection.lease;
  }

  /** Waits for a lease and completes it at once. */
  serve(pool: string, request: SelectionRequest): Promise<Lease | null> {
    return this.ask('serve', pool, request);
  }

  end(how: 'complete' | 'abandon' | 'extend', pool: string, lease: string): Promise<unknown> {
    return this.ask(how, pool, lease);
  }

  /** Takes and completes leases from here on. */
  loop(options: LoopOptions): Promise<void> {
    return this.ask('loop', options);
  }

  report(): Promise<LoopReport> {
    return this.ask('report');
  }

  /** Lets the loops end. */
  endLoops(): Promise<LoopReport> {
    return this.ask('end');
  }

  /** Stops it where it is, as a machine that swaps or sleeps would. */
  pause(): void {
    this.child.kill('SIGSTOP');
  }

  resume(): void {
    this.child.kill('SIGCONT');
  }

  /** Ends it at once, in the middle of whatever it does. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await exited(this.child);
  }

  private ask<T>(method: string, ...args: unknown[]): Promise<T> {
    const call = ++this.calls;
    const answered = new Promise<T>((resolve, reject) => this.pending.set(call, { resolve, reject }));
    // One that dies before it answers may have nobody who listens.
    answered.catch(() => undefined);
    this.child.send({ call, method, args });
    return answered;
  }

  private take({ call, value, error }: Answer): void {
    const pending = this.pending.get(call);
    this.pending.delete(call);
    if (error) pending?.reject(Object.assign(new Error(error.message), error));
    else pending?.resolve(value as never);
  }
}

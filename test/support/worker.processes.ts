import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { exited, killAtExit } from './child.processes.js';

/** What a worker has done so far. */
export interface WorkerReport {
  /** Member id -> selections that reached the worker. */
  tally: Record<string, number>;
  /** Error code -> calls that failed with it. */
  failures: Record<string, number>;
  delivered: number;
}

export interface WorkerOptions {
  url: string;
  pool: string;
  /** Calls that a worker has under way at the same time. */
  atOnce: number;
  /** How many selections it makes before it ends; absent: until it is told to. */
  selections?: number;
}

const PROGRAM = fileURLToPath(new URL('worker.mjs', import.meta.url));

/** A process that selects from a pool through SelectionService, as fast as it can. */
export class WorkerProcess {
  private readonly child: ChildProcess;
  private log = '';
  private readonly waiting: ((report: WorkerReport | null) => void)[] = [];

  constructor({ url, pool, atOnce, selections = 0 }: WorkerOptions) {
    const { NODE_OPTIONS: _testsOwn, ...env } = process.env;
    this.child = fork(PROGRAM, [url, pool, String(atOnce), String(selections)], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      execArgv: [],
      env,
    });
    killAtExit(this.child);
    const answer = (report: WorkerReport | null): void => {
      for (const waiting of this.waiting.splice(0)) waiting(report);
    };
    this.child.on('message', (report: WorkerReport) => answer(report));
    this.child.once('exit', () => answer(null));
    this.child.stderr?.on('data', (data: Buffer) => (this.log += data.toString()));
  }

  /** What it has done so far. */
  async report(): Promise<WorkerReport> {
    this.child.send({ ask: true });
    return this.nextReport();
  }

  /** Lets the calls under way end, and the process with them. */
  async end(): Promise<WorkerReport> {
    this.child.send({ end: true });
    return this.finished();
  }

  /** Resolves when it has made all of its selections. */
  async finished(): Promise<WorkerReport> {
    const report = await this.nextReport();
    await exited(this.child);
    return report;
  }

  /** Ends it at once, in the middle of whatever it does. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await exited(this.child);
  }

  private async nextReport(): Promise<WorkerReport> {
    const report = await new Promise<WorkerReport | null>((resolve) => this.waiting.push(resolve));
    if (!report) throw new Error(`the worker ended without a report: ${this.log}`);
    return report;
  }
}

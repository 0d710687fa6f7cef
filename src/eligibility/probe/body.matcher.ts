import { Worker } from 'node:worker_threads';
import { throwIfAborted, unlessAborted } from './time.limit.js';

/** How long one match may take, in milliseconds. */
export const MATCH_BUDGET_MS = 200;
const MAX_HEAP_MIB = 64;

/** `late` where the match took longer than its budget, `failed` where there is no telling, as when memory ran out. */
export type Verdict = 'yes' | 'no' | 'late' | 'failed';

/** The thread's program: a script of `node:vm` is stopped when its time is up, a regular expression that runs included. */
const PROGRAM = `
  const { parentPort } = require('node:worker_threads');
  const { Script, createContext } = require('node:vm');
  const scope = createContext({ pattern: '', text: '' });
  const script = new Script('new RegExp(pattern, "u").test(text)');
  const match = (timeout) => {
    try {
      return script.runInContext(scope, { timeout }) ? 'yes' : 'no';
    } catch (error) {
      return error?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT' ? 'late' : 'failed';
    }
  };
  parentPort.on('message', ({ pattern, text, budgetMs }) => {
    Object.assign(scope, { pattern, text });
    parentPort.postMessage(match(budgetMs));
  });
`;

/** Matches bodies in a thread of their own, one after the other: a pattern that backtracks for ever holds up nothing else. */
export class BodyMatcher {
  private thread: Worker | undefined;
  private turn: Promise<unknown> = Promise.resolve();
  private settle: (verdict: Verdict) => void = () => undefined;

  /**
   * Whether a regular expression, with the flag u, matches anywhere in a text.
   *
   * @throws ProbeError `aborted` where the signal aborts first
   */
  async match(pattern: string, text: string, signal: AbortSignal): Promise<Verdict> {
    const asked = this.turn.then(() => {
      throwIfAborted(signal);
      return this.ask(pattern, text);
    });
    this.turn = asked.catch(() => undefined);
    return unlessAborted(signal, asked);
  }

  /** Ends the thread; the next match starts another. */
  async close(): Promise<void> {
    await this.thread?.terminate();
  }

  private ask(pattern: string, text: string): Promise<Verdict> {
    const thread = (this.thread ??= this.start());
    return new Promise((resolve) => {
      this.settle = resolve;
      thread.postMessage({ pattern, text, budgetMs: MATCH_BUDGET_MS });
    });
  }

  private start(): Worker {
    const thread = new Worker(PROGRAM, {
      eval: true,
      execArgv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MIB },
    });
    thread.on('message', (verdict: Verdict) => this.settle(verdict));
    // A thread that fails exits as well.
    thread.on('error', () => undefined);
    thread.on('exit', () => {
      this.thread = undefined;
      this.settle('failed');
    });
    // It must not keep a process alive that is done.
    thread.unref();
    return thread;
  }
}

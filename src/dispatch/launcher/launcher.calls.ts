import { Injectable, Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LauncherSettings } from '../queue.settings.js';
import {
  LaunchRefusedError,
  type Launcher,
  LauncherCallError,
  type LauncherJob,
  type LauncherNode,
  type LauncherStatus,
} from './launcher.js';
import { LauncherRegistry } from './launcher.registry.js';

/** A launcher that heeds its signal may still say what it learned until then. */
const GRACE_MS = 250;

/** What a queue says of calls to its nodes; its settings do. */
export interface LauncherTarget {
  readonly launcher: LauncherSettings;
  readonly callMs: number;
}

/** Calls the launcher of a queue, and waits for no call longer than the queue says. */
@Injectable()
export class LauncherCalls {
  private readonly logger = new Logger('Dispatch');
  /** Launcher -> how it failed last: nodes are asked again and again, and the log says it once. */
  private readonly failures = new Map<string, string>();

  constructor(private readonly registry: LauncherRegistry) {}

  /** @throws LaunchRefusedError where it was certainly not started, LauncherCallError where that is open */
  start(target: LauncherTarget, node: LauncherNode, job: LauncherJob): Promise<void> {
    return this.call(target, (launcher, options, signal) => launcher.start(node, job, options, signal));
  }

  /** @throws LauncherCallError */
  status(
    target: LauncherTarget,
    node: LauncherNode,
    jobs: readonly LauncherJob[],
  ): Promise<ReadonlyMap<string, LauncherStatus | LauncherCallError>> {
    return this.ask(target, (launcher, options, signal) => launcher.status(node, jobs, options, signal));
  }

  /** @throws LauncherCallError */
  cancel(target: LauncherTarget, node: LauncherNode, job: LauncherJob): Promise<void> {
    return this.ask(target, (launcher, options, signal) => launcher.cancel(node, job, options, signal));
  }

  /** @throws LauncherCallError */
  load(target: LauncherTarget, node: LauncherNode): Promise<number | null> {
    return this.ask(target, (launcher, options, signal) => launcher.load(node, options, signal));
  }

  has({ launcher }: Pick<LauncherTarget, 'launcher'>): boolean {
    return this.registry.find(launcher.type) !== undefined;
  }

  /** Only a start can be refused. */
  private async ask<T>(target: LauncherTarget, call: LauncherCall<T>): Promise<T> {
    try {
      return await this.call(target, call);
    } catch (error) {
      if (error instanceof LaunchRefusedError) throw new LauncherCallError(error.message, { cause: error });
      throw error;
    }
  }

  private async call<T>({ launcher: settings, callMs }: LauncherTarget, call: LauncherCall<T>): Promise<T> {
    const { type, ...options } = settings;
    const launcher = this.registry.find(type);
    if (!launcher) throw new LauncherCallError(`this process has no launcher "${type}"`);
    const signal = AbortSignal.timeout(callMs);
    const done = new AbortController();
    try {
      return await Promise.race([call(launcher, options, signal), tooLate(callMs, done.signal)]);
    } catch (error) {
      if (error instanceof LaunchRefusedError || error instanceof LauncherCallError) throw error;
      if (signal.aborted) throw lateError(callMs, error);
      this.tell(type, error);
      throw new LauncherCallError('the launcher failed; the log of the service says how', { cause: error });
    } finally {
      done.abort();
    }
  }

  private tell(type: string, error: unknown): void {
    const failure = String((error as Error | undefined)?.message);
    if (this.failures.get(type) === failure) return;
    this.failures.set(type, failure);
    this.logger.error(`The launcher "${type}" failed.`, (error as Error | undefined)?.stack);
  }
}

type LauncherCall<T> = (launcher: Launcher, options: unknown, signal: AbortSignal) => Promise<T>;

/** A launcher may not heed its signal. */
async function tooLate(callMs: number, signal: AbortSignal): Promise<never> {
  await sleep(callMs + GRACE_MS, undefined, { signal, ref: false });
  throw lateError(callMs);
}

function lateError(callMs: number, cause?: unknown): LauncherCallError {
  return new LauncherCallError(`the node gave no answer within ${callMs} ms`, { cause });
}

import { Injectable, Logger } from '@nestjs/common';
import type { StoredQueue } from '../queue.directory.js';
import {
  LaunchRefusedError,
  type Launcher,
  LauncherCallError,
  type LauncherJob,
  type LauncherNode,
  type LauncherStatus,
} from './launcher.js';
import { LauncherRegistry } from './launcher.registry.js';

/** Calls the launcher of a queue, and waits for no call longer than the queue says. */
@Injectable()
export class LauncherCalls {
  private readonly logger = new Logger('Dispatch');

  constructor(private readonly registry: LauncherRegistry) {}

  /** @throws LaunchRefusedError where it was certainly not started, LauncherCallError where that is open */
  start(queue: StoredQueue, node: LauncherNode, job: LauncherJob): Promise<void> {
    return this.call(queue, (launcher, options, signal) => launcher.start(node, job, options, signal));
  }

  /** @throws LauncherCallError */
  status(
    queue: StoredQueue,
    node: LauncherNode,
    jobs: readonly LauncherJob[],
  ): Promise<ReadonlyMap<string, LauncherStatus>> {
    return this.call(queue, (launcher, options, signal) => launcher.status(node, jobs, options, signal));
  }

  /** @throws LauncherCallError */
  cancel(queue: StoredQueue, node: LauncherNode, job: LauncherJob): Promise<void> {
    return this.call(queue, (launcher, options, signal) => launcher.cancel(node, job, options, signal));
  }

  /** @throws LauncherCallError */
  load(queue: StoredQueue, node: LauncherNode): Promise<number | null> {
    return this.call(queue, (launcher, options, signal) => launcher.load(node, options, signal));
  }

  private async call<T>(
    { settings }: StoredQueue,
    call: (launcher: Launcher, options: unknown, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { type, ...options } = settings.launcher;
    const launcher = this.registry.find(type);
    // The queue was set up by a process that has it; this one must not start anything, nor decide that anything is lost.
    if (!launcher) throw new LauncherCallError(`this process has no launcher "${type}"`);
    const signal = AbortSignal.timeout(settings.callMs);
    try {
      return await Promise.race([call(launcher, options, signal), late(signal, settings.callMs)]);
    } catch (error) {
      if (error instanceof LaunchRefusedError || error instanceof LauncherCallError) throw error;
      if (signal.aborted) throw new LauncherCallError(lateMessage(settings.callMs), { cause: error });
      this.logger.error(`The launcher "${type}" failed.`, (error as Error | undefined)?.stack);
      throw new LauncherCallError('the launcher failed; the log of the service says how', { cause: error });
    }
  }
}

/** A launcher may not heed its signal. */
function late(signal: AbortSignal, callMs: number): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new LauncherCallError(lateMessage(callMs))), { once: true });
  });
}

function lateMessage(callMs: number): string {
  return `the node gave no answer within ${callMs} ms`;
}

import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { identityOf, isRunning, type ProcessIdentity } from './process.identity.js';
import type { ServerDirectory } from './server.directory.js';

/** A server process, whether this process started it or an earlier service did. */
export interface ServerProcess {
  identity: ProcessIdentity;
  /** Resolves when the process has ended. */
  ended: Promise<void>;
}

/** How often a process that is no child of this one is looked at. */
const WATCH_MS = 200;

/** Starts a server in a process group of its own, so that Ctrl-C in a terminal reaches the service first. */
export async function spawnServer(program: string, directory: ServerDirectory): Promise<ServerProcess> {
  const log = directory.openLog();
  try {
    const child = spawn(program, [directory.configPath], {
      cwd: directory.path,
      detached: true,
      stdio: ['ignore', log, log],
    });
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    const failure = new Promise<never>((_resolve, reject) => child.once('error', reject));
    // Without a process number there was no start: the error follows.
    if (child.pid === undefined) return await failure;
    failure.catch(() => undefined);
    const identity = identityOf(child.pid);
    directory.writeProcess(identity);
    child.unref();
    return { identity, ended };
  } finally {
    closeSync(log);
  }
}

/** Takes charge of a server that runs already. */
export function adoptServer(identity: ProcessIdentity): ServerProcess {
  const ended = new Promise<void>((resolve) => {
    const watch = setInterval(() => {
      if (isRunning(identity)) return;
      clearInterval(watch);
      resolve();
    }, WATCH_MS);
    watch.unref();
  });
  return { identity, ended };
}

/** Sends a signal, unless the process has ended. */
export function signalServer({ identity }: ServerProcess, signal: NodeJS.Signals): void {
  if (!isRunning(identity)) return;
  try {
    process.kill(identity.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

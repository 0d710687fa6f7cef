import { spawn, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';

/**
 * Sees to it that a child does not outlive the tests, even when they are killed. Jest hides the end of its process from
 * tests, so a shell waits for it: for the end of its input.
 */
export function killAtExit(child: ChildProcess): void {
  if (child.pid === undefined) return;
  const watchdog = spawn('/bin/sh', ['-c', `read -r _; kill -9 ${child.pid}`], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  watchdog.unref();
  (watchdog.stdin as Socket).unref();
  child.once('exit', () => watchdog.kill('SIGKILL'));
}

/** Resolves when a child has ended, at once if it has already. */
export async function exited(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  await new Promise((resolve) => child.once('exit', resolve));
}

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { profileArgsIn } from './profile.args.mjs';

const PROGRAM = fileURLToPath(new URL('scenario.child.mjs', import.meta.url));

/**
 * Runs one scenario in a process of its own, so that none pays for the garbage of another.
 *
 * @param options `rounds` instead of the usual ones, `profileDir` for CPU profiles; both may be absent
 * @returns the scenario's tables and checks, and the seconds it took; `failed` where it came to no end
 */
export async function runScenario(name, options) {
  const startedAt = performance.now();
  const child = fork(PROGRAM, [name, JSON.stringify(options)], { execArgv: profileArgsIn(options.profileDir, name) });
  let found;
  child.once('message', (message) => {
    found = message;
  });
  const [code] = await once(child, 'exit');
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  return { tables: [], checks: [], ...found, failed: !found || code !== 0, seconds };
}

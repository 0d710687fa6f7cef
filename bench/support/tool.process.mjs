import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
const TIMEOUT_MS = 120_000;

/** A program that a scenario needs is not there; the message says what to install. */
export class ToolMissingError extends Error {
  name = 'ToolMissingError';
}

/** Runs a program to its end; what it printed. @throws ToolMissingError */
export async function runTool(program, args, debianPackage) {
  try {
    const { stdout } = await run(program, args.map(String), { timeout: TIMEOUT_MS });
    return stdout;
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    throw new ToolMissingError(`${program} is missing. On Debian and Ubuntu: apt-get install ${debianPackage}`);
  }
}

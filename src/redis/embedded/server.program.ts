import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import type { RedisLogger } from '../outage.log.js';
import { EmbeddedRedisError } from './embedded.error.js';
import { canInstall, installRedisServer } from './program.installer.js';

const PROGRAMS = ['redis-server', 'valkey-server'];
/** Where packages put the programs, though not every PATH has it. */
const MORE_DIRECTORIES = ['/usr/bin', '/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin'];

const HOW_TO_GET_ONE = [
  'Neither redis-server nor valkey-server was found, and there is no REDIS_URL.',
  'Get one: apt-get install redis-server (Debian, Ubuntu), dnf install valkey (Fedora), brew install redis (macOS);',
  'or set REDIS_URL to a Redis 6.2 or newer, such as REDIS_URL=redis://127.0.0.1:6379.',
].join('\n');

/**
 * The path of a server program; as root on Debian or Ubuntu it is installed when there is none.
 *
 * @throws EmbeddedRedisError that says how to get one
 */
export async function provideServerProgram(
  logger: RedisLogger,
  find = findServerProgram,
  installer = { canInstall, install: installRedisServer },
): Promise<string> {
  const found = find();
  if (found !== undefined) return found;
  if (!installer.canInstall()) throw new EmbeddedRedisError(HOW_TO_GET_ONE);
  await installer.install(logger);
  const installed = find();
  if (installed === undefined) throw new EmbeddedRedisError(HOW_TO_GET_ONE);
  return installed;
}

/** The full path of the first program found: redis-server anywhere before valkey-server. */
export function findServerProgram(path = process.env['PATH'] ?? '', more = MORE_DIRECTORIES): string | undefined {
  const directories = [...path.split(delimiter).filter((directory) => directory !== ''), ...more];
  return PROGRAMS.flatMap((program) => directories.map((directory) => resolve(directory, program))).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

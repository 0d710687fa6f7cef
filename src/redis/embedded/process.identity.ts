import { readFileSync } from 'node:fs';

/** A process, told apart from a later one that got the same number. */
export interface ProcessIdentity {
  pid: number;
  /** Clock ticks from boot to the start of the process; absent where the system does not tell (not Linux). */
  startedAt?: number;
}

/** Field 22 of `/proc/<pid>/stat`; counted from behind the command name, which may hold blanks. */
const START_TIME_FIELD = 22 - 3;

export function identityOf(pid: number): ProcessIdentity {
  const startedAt = readStat(pid)?.startedAt;
  return startedAt === undefined ? { pid } : { pid, startedAt };
}

/** Whether exactly this process still runs; one that ended and was not waited for does not. */
export function isRunning({ pid, startedAt }: ProcessIdentity): boolean {
  if (!exists(pid)) return false;
  const stat = readStat(pid);
  if (!stat) return true;
  return stat.state !== 'Z' && (startedAt === undefined || stat.startedAt === startedAt);
}

/** Reads an identity from a file's text; undefined when it holds none. */
export function parseIdentity(text: string): ProcessIdentity | undefined {
  try {
    const { pid, startedAt } = JSON.parse(text) as Partial<ProcessIdentity>;
    if (!Number.isSafeInteger(pid) || (pid ?? 0) < 1) return undefined;
    return { pid: pid as number, ...(typeof startedAt === 'number' ? { startedAt } : {}) };
  } catch {
    return undefined;
  }
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function readStat(pid: number): { state: string; startedAt: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state = '', ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state, startedAt: Number(fields[START_TIME_FIELD - 1]) };
  } catch {
    return undefined;
  }
}

import { createHash, randomUUID } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { identityOf, isRunning, parseIdentity } from './process.identity.js';

/** Another process that runs holds the lock. */
export class LockHeldError extends Error {
  override readonly name = 'LockHeldError';

  constructor(
    readonly path: string,
    readonly pid: number,
  ) {
    super(`The lock ${path} is held by process ${pid}.`);
  }
}

/**
 * A lock file that names its holder, so that a lock whose holder died can be taken over.
 *
 * The file appears with its whole content by link(2), which fails when it is there. Of several processes that find the
 * same dead holder, only the one that gets a second lock, named after the content of the first, may replace it, and only
 * while that content is still there.
 */
export class DirectoryLock {
  private constructor(
    readonly path: string,
    private readonly content: string,
  ) {}

  /** @throws LockHeldError when a process that runs holds it, this one included */
  static acquire(path: string): DirectoryLock {
    const nonce = randomUUID();
    const content = JSON.stringify({ ...identityOf(process.pid), nonce });
    const draft = `${path}.${nonce}`;
    writeFileSync(draft, content, { mode: 0o600, flag: 'wx' });
    try {
      for (;;) {
        if (linkUnlessThere(draft, path)) return new DirectoryLock(path, content);
        const found = readUnlessGone(path);
        if (found === undefined) continue;
        const holder = parseIdentity(found);
        if (holder && isRunning(holder)) throw new LockHeldError(path, holder.pid);
        if (replace(path, found, draft)) return new DirectoryLock(path, content);
      }
    } finally {
      rmSync(draft, { force: true });
    }
  }

  release(): void {
    if (readUnlessGone(this.path) === this.content) rmSync(this.path, { force: true });
  }
}

function replace(path: string, abandoned: string, draft: string): boolean {
  const generation = createHash('sha256').update(abandoned).digest('hex').slice(0, 16);
  const gate = DirectoryLock.acquire(`${path}.${generation}`);
  try {
    if (readUnlessGone(path) !== abandoned) return false;
    renameSync(draft, path);
    return true;
  } finally {
    gate.release();
  }
}

function linkUnlessThere(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function readUnlessGone(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

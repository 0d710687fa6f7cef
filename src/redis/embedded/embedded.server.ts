import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisLogger } from '../outage.log.js';
import type { UrlConnection } from '../redis.options.js';
import { DirectoryLock, LockHeldError } from './directory.lock.js';
import { EmbeddedRedisError } from './embedded.error.js';
import { ServerDirectory } from './server.directory.js';
import { connectionTo } from './server.endpoint.js';
import { ServerLauncher, type LaunchedServer } from './server.launcher.js';
import { signalServer, type ServerProcess } from './server.process.js';

const FIRST_RESTART_MS = 50;
const LONGEST_RESTART_MS = 5_000;
/** A server that ran for this long counts as one that works: its next restart does not wait. */
const STEADY_MS = 10_000;
/** How long the server may take to save its data when it is stopped. */
const STOP_MS = 10_000;

/** A private redis-server or valkey-server that lives and ends with this process, and is started again when it dies. */
export class EmbeddedServer {
  private stopping: Promise<void> | undefined;
  private readonly stopRequest = new AbortController();
  private readonly watching: Promise<void>;
  private readonly atExit = (): void => signalServer(this.server.process, 'SIGTERM');

  private constructor(
    private readonly lock: DirectoryLock,
    private readonly launcher: ServerLauncher,
    private server: LaunchedServer,
    private readonly logger: RedisLogger,
  ) {
    process.once('exit', this.atExit);
    this.watching = this.keepRunning();
  }

  /**
   * Starts the server of a data directory, or takes over the one that a killed service left.
   *
   * @throws EmbeddedRedisError when another service uses the directory, or the server cannot be started
   */
  static async start(dataDir: string, logger: RedisLogger): Promise<EmbeddedServer> {
    const directory = openDirectory(dataDir);
    const lock = acquireLock(directory);
    try {
      const launcher = new ServerLauncher(directory, logger);
      return new EmbeddedServer(lock, launcher, await launcher.launch(), logger);
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  /** How to reach it; stays the same when the server is started again. */
  get connection(): UrlConnection {
    return connectionTo(this.server.endpoint);
  }

  get pid(): number {
    return this.server.process.identity.pid;
  }

  /** Lets the server save its data and end; then another service may use the directory. */
  stop(): Promise<void> {
    this.stopping ??= this.endServer();
    return this.stopping;
  }

  private async endServer(): Promise<void> {
    this.stopRequest.abort();
    await this.watching;
    signalServer(this.server.process, 'SIGTERM');
    if (!(await endsWithin(this.server.process, STOP_MS))) {
      this.logger.error(`The embedded Redis (process ${this.pid}) is still saving its data and ends by itself.`);
    }
    process.removeListener('exit', this.atExit);
    this.lock.release();
  }

  private async keepRunning(): Promise<void> {
    const { signal } = this.stopRequest;
    const stopRequested = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    let delayMs = FIRST_RESTART_MS;
    for (;;) {
      const startedAt = Date.now();
      await Promise.race([this.server.process.ended, stopRequested]);
      if (signal.aborted) return;
      this.logger.error(`The embedded Redis (process ${this.pid}) ended unexpectedly and is started again.`);
      if (Date.now() - startedAt >= STEADY_MS) delayMs = FIRST_RESTART_MS;
      delayMs = await this.restart(delayMs, signal);
    }
  }

  /** Tries until it runs, with longer and longer pauses; returns the next pause. */
  private async restart(firstDelayMs: number, signal: AbortSignal): Promise<number> {
    let isReported = false;
    for (let delayMs = firstDelayMs; ;) {
      await sleep(delayMs, undefined, { signal }).catch(() => undefined);
      delayMs = Math.min(delayMs * 2, LONGEST_RESTART_MS);
      if (signal.aborted) return delayMs;
      try {
        this.server = await this.launcher.launch(this.server.endpoint, signal);
        this.logger.log(`The embedded Redis runs again (process ${this.pid}).`);
        return delayMs;
      } catch (error) {
        if (!isReported) this.logger.error(`${(error as Error).message}\nTrying again until it starts.`);
        isReported = true;
      }
    }
  }
}

async function endsWithin(server: ServerProcess, ms: number): Promise<boolean> {
  const timer = new AbortController();
  const tooLate = sleep(ms, false, { signal: timer.signal }).catch(() => false);
  const hasEnded = await Promise.race([server.ended.then(() => true), tooLate]);
  timer.abort();
  return hasEnded;
}

function openDirectory(dataDir: string): ServerDirectory {
  try {
    return new ServerDirectory(dataDir);
  } catch (error) {
    throw new EmbeddedRedisError(
      `DATA_DIR "${dataDir}" cannot hold the embedded Redis: ${(error as Error).message}.\nUse another DATA_DIR, or set REDIS_URL.`,
      { cause: error },
    );
  }
}

function acquireLock(directory: ServerDirectory): DirectoryLock {
  try {
    return DirectoryLock.acquire(directory.lockPath);
  } catch (error) {
    if (!(error instanceof LockHeldError)) throw error;
    throw new EmbeddedRedisError(
      `Another Evenhand (process ${error.pid}) uses the data directory ${directory.path}.\n` +
        'Use another DATA_DIR, or give both the same REDIS_URL so that they share one Redis.',
      { cause: error },
    );
  }
}

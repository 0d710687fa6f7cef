import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisLogger } from '../outage.log.js';
import { EmbeddedRedisError } from './embedded.error.js';
import { identityOf, isRunning, type ProcessIdentity } from './process.identity.js';
import { serverConfig } from './server.config.js';
import type { ServerDirectory } from './server.directory.js';
import { chooseLoopbackEndpoint, fitsSocket, type ServerEndpoint } from './server.endpoint.js';
import { askServer } from './server.probe.js';
import { adoptServer, spawnServer, type ServerProcess } from './server.process.js';
import { provideServerProgram } from './server.program.js';

const POLL_MS = 20;
/** How long a process of an earlier run may stay silent before the start is given up. */
const SILENCE_MS = 10_000;

/** A server that answers, and where. */
export interface LaunchedServer {
  endpoint: ServerEndpoint;
  process: ServerProcess;
}

/** Finds the server of a directory, or starts it. The caller holds the directory's lock. */
export class ServerLauncher {
  constructor(
    private readonly directory: ServerDirectory,
    private readonly logger: RedisLogger,
  ) {}

  /**
   * Returns when the server has read all its data, or when it is asked to stop.
   *
   * @param endpoint where a server that must be started listens; chosen if absent
   * @throws EmbeddedRedisError with the end of the server's log when it does not start
   */
  async launch(endpoint?: ServerEndpoint, stopRequest?: AbortSignal): Promise<LaunchedServer> {
    const adopted = await this.findLeftServer(stopRequest);
    if (adopted) return adopted;
    const chosen = endpoint ?? (await this.chooseEndpoint());
    const program = await provideServerProgram(this.logger);
    this.directory.writeConfig(serverConfig(this.directory.path, chosen));
    this.directory.trimLog();
    const logOffset = this.directory.logSize();
    const process = await spawnServer(program, this.directory);
    if (await this.becomesReady(chosen, process.identity, stopRequest)) return { endpoint: chosen, process };
    const tail = this.directory.readLogTail(logOffset);
    throw new EmbeddedRedisError(`${program} did not start. The end of ${this.directory.logPath}:\n${tail}`);
  }

  private async findLeftServer(stopRequest?: AbortSignal): Promise<LaunchedServer | undefined> {
    const endpoint = this.rememberedEndpoint();
    if (!endpoint) return undefined;
    const identity = await this.findLeftProcess(endpoint);
    if (!identity) return undefined;
    this.logger.log(`Taking over the embedded Redis (process ${identity.pid}) that an earlier run left.`);
    if (!(await this.becomesReady(endpoint, identity, stopRequest))) return undefined;
    return { endpoint, process: adoptServer(identity) };
  }

  /** A service may have been killed right after it started the server: that process may not answer yet. */
  private async findLeftProcess(endpoint: ServerEndpoint): Promise<ProcessIdentity | undefined> {
    const remembered = this.directory.readProcess();
    const deadline = Date.now() + SILENCE_MS;
    for (;;) {
      const answer = await askServer(endpoint);
      if (answer) return identityOf(answer.pid);
      if (!remembered || !isRunning(remembered)) return undefined;
      if (Date.now() > deadline) throw silentServer(remembered.pid, this.directory.path);
      await sleep(POLL_MS);
    }
  }

  private rememberedEndpoint(): ServerEndpoint | undefined {
    const { socketPath } = this.directory;
    return fitsSocket(socketPath) ? { socketPath } : this.directory.readEndpoint();
  }

  private async chooseEndpoint(): Promise<ServerEndpoint> {
    const { socketPath } = this.directory;
    if (fitsSocket(socketPath)) return { socketPath };
    const endpoint = await chooseLoopbackEndpoint();
    this.directory.writeEndpoint(endpoint);
    return endpoint;
  }

  /**
   * Waits for as long as the process lives, since reading much data takes long; false when it ended. Nobody else can
   * listen there: whoever answers is the process, or was started by it where the program is a script around the server.
   */
  private async becomesReady(
    endpoint: ServerEndpoint,
    identity: ProcessIdentity,
    stopRequest?: AbortSignal,
  ): Promise<boolean> {
    while (isRunning(identity)) {
      const answer = await askServer(endpoint);
      if (stopRequest?.aborted || (answer && !answer.isLoading)) return true;
      await sleep(POLL_MS);
    }
    return false;
  }
}

function silentServer(pid: number, path: string): EmbeddedRedisError {
  return new EmbeddedRedisError(
    `The embedded Redis of an earlier run (process ${pid}) still runs in ${path} but does not answer.\n` +
      'End that process, or use another DATA_DIR, or set REDIS_URL.',
  );
}

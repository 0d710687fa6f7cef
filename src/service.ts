import { ConsoleLogger, type LogLevel } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from './app.module.js';
import { type Environment, nestLogLevels } from './config/environment.js';
import { serveApiDocument } from './http/api.document.js';
import { PoolsFileSetup } from './pool-setup/pools.setup.js';
import { configureHttp, createAdapter } from './http/http.setup.js';

/** How long requests that are under way at the shutdown may take before their connections are cut. */
const GRACE_MS = 10_000;
const SWEEP_MS = 50;
/** Nest's own reports of every route and module. */
const NOISE: readonly (string | undefined)[] = ['InstanceLoader', 'RoutesResolver', 'RouterExplorer', 'NestFactory'];

/** The service with everything that it is made of: from its environment to a port that answers. */
export class Service {
  private constructor(
    private readonly app: NestFastifyApplication,
    /** Where the API is. */
    readonly url: string,
  ) {}

  /** @throws EvenhandError | EmbeddedRedisError | PoolsFileError, or what Node says when it cannot listen */
  static async start(environment: Environment): Promise<Service> {
    const logger = new ServiceLogger({ logLevels: nestLogLevels(environment.logLevel) });
    const app = await NestFactory.create<NestFastifyApplication>(AppModule.register(environment), createAdapter(), {
      logger,
      abortOnError: false,
      bodyParser: false,
    });
    try {
      configureHttp(app, environment.importMaxBytes);
      serveApiDocument(app);
      await app.init();
      if (environment.poolsFile !== undefined) await app.get(PoolsFileSetup).run(environment.poolsFile);
      await app.listen(environment.port, environment.host);
      return new Service(app, await app.getUrl());
    } catch (error) {
      await app.close();
      throw error;
    }
  }

  /** Takes nothing new, lets what is under way end within ten seconds, and closes Redis. */
  async stop(): Promise<void> {
    const server = this.app.getHttpServer();
    const cut = setTimeout(() => server.closeAllConnections(), GRACE_MS);
    // A connection whose last request has ended would stay open for the next one.
    const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
    try {
      await this.app.close();
    } finally {
      clearTimeout(cut);
      clearInterval(sweep);
    }
  }
}

class ServiceLogger extends ConsoleLogger {
  constructor({ logLevels }: { logLevels: LogLevel[] }) {
    super({ logLevels });
  }

  override log(message: unknown, ...rest: unknown[]): void {
    const context = rest.at(-1) as string | undefined;
    if (!NOISE.includes(context) || this.isLevelEnabled('debug')) super.log(message, ...(rest as [string]));
  }

  /** What goes wrong at the start is told once, by whoever started the service. */
  override error(message: unknown, ...rest: unknown[]): void {
    if (rest.at(-1) !== 'ExceptionHandler') super.error(message, ...(rest as [string]));
  }
}

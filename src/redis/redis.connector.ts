import type { OnApplicationShutdown } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedServer } from './embedded/embedded.server.js';
import type { RedisLogger } from './outage.log.js';
import { createRedisClient, type RedisClient } from './redis.client.js';
import type { RedisConnection, RedisOptions, RemoteConnection } from './redis.options.js';
import { waitForRedis } from './redis.readiness.js';
import { describeTarget } from './redis.target.js';
import { requireSupportedVersion } from './redis.version.js';

/** How long the first connection may take: a Redis that starts along with the service is waited for. */
const CONNECT_MS = 10_000;
/** How long a farewell may take before the connection is cut. */
const QUIT_MS = 1_000;

/** Opens the connection for commands and closes it, the embedded server with it where there is one. */
export class RedisConnector implements OnApplicationShutdown {
  private embedded: EmbeddedServer | undefined;
  private client: RedisClient | undefined;

  constructor(
    private readonly options: RedisOptions,
    private readonly logger: RedisLogger,
    private readonly connectWithinMs = CONNECT_MS,
  ) {}

  /**
   * Returns a client that is connected to a Redis that will do.
   *
   * @throws RedisUnavailableError naming the server when it cannot be reached in time
   * @throws RedisRefusedError when it refuses the credentials or is too old
   * @throws EmbeddedRedisError when the embedded server cannot be started
   */
  async connect(): Promise<RedisClient> {
    try {
      const connection = await this.reach(this.options.connection);
      const target = describeTarget(connection);
      this.client = createRedisClient(connection, {
        commandTimeoutMs: this.options.commandTimeoutMs,
        logger: this.logger,
      });
      await waitForRedis(this.client, target, this.connectWithinMs);
      await requireSupportedVersion(this.client, target);
      return this.client;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Ends within a bounded time, whether Redis answers or not; may be called again. */
  async close(): Promise<void> {
    const { client, embedded } = this;
    this.client = undefined;
    this.embedded = undefined;
    if (client) await disconnect(client);
    await embedded?.stop();
  }

  /** Last of the shutdown's phases: whoever uses Redis while shutting down does so in an earlier one. */
  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }

  private async reach(connection: RedisConnection): Promise<RemoteConnection> {
    if (!('embedded' in connection)) return connection;
    this.embedded = await EmbeddedServer.start(connection.embedded.dataDir, this.logger);
    return this.embedded.connection;
  }
}

async function disconnect(client: RedisClient): Promise<void> {
  const farewell = client.quit().catch(() => undefined);
  await Promise.race([farewell, sleep(QUIT_MS, undefined, { ref: false })]);
  client.disconnect();
}

import { RedisConnector } from '../../src/redis/redis.connector.js';
import type { RedisClient } from '../../src/redis/redis.client.js';
import { redisOptionsSchema, type RedisOptionsInput } from '../../src/redis/redis.options.js';
import { RecordingLogger } from './recording.logger.js';

export interface OpenedClient {
  client: RedisClient;
  logger: RecordingLogger;
  connector: RedisConnector;
}

/** Opens clients as a module would, and closes all of them when a test has ended. */
export class OpenedClients {
  private readonly connectors: RedisConnector[] = [];

  async open(
    options: RedisOptionsInput,
    connectWithinMs = 10_000,
    logger = new RecordingLogger(),
  ): Promise<OpenedClient> {
    const connector = new RedisConnector(redisOptionsSchema.parse(options), logger, connectWithinMs);
    this.connectors.push(connector);
    return { client: await connector.connect(), logger, connector };
  }

  async closeAll(): Promise<void> {
    await Promise.all(this.connectors.splice(0).map((connector) => connector.close()));
  }
}

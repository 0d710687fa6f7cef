import { RedisConnector } from '../../src/redis/redis.connector.js';
import type { RedisClient } from '../../src/redis/redis.client.js';
import { redisOptionsSchema, type RedisOptionsInput } from '../../src/redis/redis.options.js';
import { RecordingLogger } from './recording.logger.js';

export interface OpenedClient {
  client: RedisClient;
  logger: RecordingLogger;
  connector: RedisConnector;
}

interface Stoppable {
  stop(): Promise<void>;
}

/** Opens clients as a module would, and closes all of them when a test has ended, however it ended. */
export class OpenedClients {
  private readonly connectors: RedisConnector[] = [];
  private readonly others: Stoppable[] = [];

  async open(
    options: RedisOptionsInput,
    connectWithinMs = 10_000,
    logger = new RecordingLogger(),
  ): Promise<OpenedClient> {
    const connector = new RedisConnector(redisOptionsSchema.parse(options), logger, connectWithinMs);
    this.connectors.push(connector);
    return { client: await connector.connect(), logger, connector };
  }

  /** What a test starts besides clients; stopped after them. */
  async alsoStop<T extends Stoppable>(starting: Promise<T>): Promise<T> {
    const started = await starting;
    this.others.push(started);
    return started;
  }

  async closeAll(): Promise<void> {
    await Promise.all(this.connectors.splice(0).map((connector) => connector.close()));
    await Promise.all(this.others.splice(0).map((other) => other.stop()));
  }
}

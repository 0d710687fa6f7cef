import { Logger, type Provider } from '@nestjs/common';
import { RedisConnector } from './redis.connector.js';
import type { RedisClient } from './redis.client.js';
import type { RedisOptions } from './redis.options.js';
import { RedisMessages } from './redis.messages.js';
import { REDIS_CLIENT, REDIS_MESSAGES, REDIS_OPTIONS } from './redis.tokens.js';

/** For a module that provides `REDIS_OPTIONS`: the connected client, closed in the last phase of the shutdown. */
export const redisProviders: Provider[] = [
  {
    provide: RedisConnector,
    inject: [REDIS_OPTIONS],
    useFactory: (options: RedisOptions): RedisConnector => new RedisConnector(options, new Logger('Redis')),
  },
  {
    provide: REDIS_CLIENT,
    inject: [RedisConnector],
    useFactory: (connector: RedisConnector): Promise<RedisClient> => connector.connect(),
  },
  {
    provide: REDIS_MESSAGES,
    inject: [REDIS_CLIENT, REDIS_OPTIONS],
    useFactory: (client: RedisClient, { commandTimeoutMs }: RedisOptions): RedisMessages =>
      new RedisMessages(client, commandTimeoutMs),
  },
];

/** The one client for commands; injects a {@link RedisClient}. */
export const REDIS_CLIENT = Symbol('REDIS_CLIENT');

/** The connection for messages; injects a {@link RedisMessages}. */
export const REDIS_MESSAGES = Symbol('REDIS_MESSAGES');

/** The checked {@link RedisOptions}. */
export const REDIS_OPTIONS = Symbol('REDIS_OPTIONS');

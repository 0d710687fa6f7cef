/** The one client for commands; injects a {@link RedisClient}. */
export const REDIS_CLIENT = Symbol('REDIS_CLIENT');

/** The checked {@link RedisOptions}. */
export const REDIS_OPTIONS = Symbol('REDIS_OPTIONS');

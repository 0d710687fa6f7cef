import type { RedisOptions } from '../redis/redis.options.js';
import { ConfigurationError } from './configuration.error.js';
import { environmentSchema, type EnvironmentVariables } from './environment.schema.js';
import { findRedisConflicts, redisConnectionOf } from './redis.environment.js';

export type LogLevel = EnvironmentVariables['LOG_LEVEL'];
export type NestLogLevel = 'fatal' | 'error' | 'warn' | 'log' | 'debug' | 'verbose';

/** What the service is told by its environment, checked. */
export interface Environment {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly redis: RedisOptions;
  /** The strategy of a pool that names none. */
  readonly defaultStrategy: string;
  /** Pools to set up at start. */
  readonly poolsFile: string | undefined;
  readonly logLevel: LogLevel;
  /** The largest body of an import. */
  readonly importMaxBytes: number;
  /** After how long without a sign of life the jobs of a process are watched by others, in ms. */
  readonly takeoverMs: number;
}

const LEVELS: readonly LogLevel[] = ['fatal', 'error', 'warn', 'info', 'debug', 'verbose'];

/**
 * Reads and checks the environment; an empty variable counts as unset.
 *
 * @throws ConfigurationError with a line for every problem, not only the first
 */
export function readEnvironment(env: Readonly<Record<string, string | undefined>>): Environment {
  const given = Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== undefined && value.trim() !== ''),
  );
  const parsed = environmentSchema.safeParse(given);
  const ownProblems = parsed.error?.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`) ?? [];
  const problems = [...new Set(ownProblems), ...findRedisConflicts((variable) => given[variable] !== undefined)];
  if (!parsed.success || problems.length > 0) throw new ConfigurationError(problems);
  return environmentOf(parsed.data);
}

function environmentOf(variables: EnvironmentVariables): Environment {
  return {
    host: variables.HOST.replace(/^\[(.*)\]$/, '$1'),
    port: variables.PORT,
    redis: {
      connection: redisConnectionOf(variables),
      keyPrefix: variables.REDIS_KEY_PREFIX,
      commandTimeoutMs: variables.REDIS_COMMAND_TIMEOUT_MS,
    },
    defaultStrategy: variables.SELECTION_STRATEGY,
    poolsFile: variables.POOLS_FILE,
    logLevel: variables.LOG_LEVEL,
    importMaxBytes: variables.IMPORT_MAX_BYTES,
    takeoverMs: variables.DISPATCH_TAKEOVER_MS,
  };
}

/** Nest's names of a level and of those more severe; Nest calls `info` `log`. */
export function nestLogLevels(level: LogLevel): NestLogLevel[] {
  return LEVELS.slice(0, LEVELS.indexOf(level) + 1).map((name) => (name === 'info' ? 'log' : name));
}

import type { RedisConnection } from '../redis/redis.options.js';
import type { EnvironmentVariables } from './environment.schema.js';

type Variable = keyof EnvironmentVariables;

const KINDS = ['REDIS_URL', 'REDIS_CLUSTER_NODES', 'REDIS_SENTINELS'] as const;
const CREDENTIALS = ['REDIS_USERNAME', 'REDIS_PASSWORD', 'REDIS_TLS'] as const;
const SENTINEL_ONLY = ['REDIS_SENTINEL_NAME', 'REDIS_SENTINEL_USERNAME', 'REDIS_SENTINEL_PASSWORD'] as const;

/** What is wrong with the Redis variables taken together; one line each. */
export function findRedisConflicts(isSet: (variable: Variable) => boolean): string[] {
  const kinds = KINDS.filter(isSet);
  if (kinds.length > 1) return [`${kinds.join(', ')}: set only one of these, or none for an embedded Redis`];
  return [...findSentinelConflicts(isSet), ...findCredentialConflicts(isSet, kinds[0])];
}

function findSentinelConflicts(isSet: (variable: Variable) => boolean): string[] {
  if (!isSet('REDIS_SENTINELS')) {
    return SENTINEL_ONLY.filter(isSet).map(
      (variable) => `${variable}: is only for Sentinel; set REDIS_SENTINELS as well, or unset it`,
    );
  }
  if (isSet('REDIS_SENTINEL_NAME')) return [];
  return ['REDIS_SENTINEL_NAME: must be set along with REDIS_SENTINELS, to the name by which they know the primary'];
}

function findCredentialConflicts(
  isSet: (variable: Variable) => boolean,
  kind: (typeof KINDS)[number] | undefined,
): string[] {
  if (kind === 'REDIS_CLUSTER_NODES' || kind === 'REDIS_SENTINELS') return [];
  const instead =
    kind === 'REDIS_URL'
      ? 'put it into REDIS_URL, as in rediss://user:password@host:port'
      : 'set one of those, or put it into REDIS_URL; an embedded Redis takes none';
  return CREDENTIALS.filter(isSet).map(
    (name) => `${name}: is for REDIS_CLUSTER_NODES and REDIS_SENTINELS only; ${instead}`,
  );
}

/** The connection that variables without conflicts ask for. */
export function redisConnectionOf(variables: EnvironmentVariables): RedisConnection {
  const { REDIS_URL, REDIS_CLUSTER_NODES, REDIS_SENTINELS, REDIS_SENTINEL_NAME } = variables;
  if (REDIS_URL !== undefined) return { url: REDIS_URL };
  const credentials = withoutUndefined({
    username: variables.REDIS_USERNAME,
    password: variables.REDIS_PASSWORD,
    tls: variables.REDIS_TLS,
  });
  if (REDIS_CLUSTER_NODES) return { clusterNodes: REDIS_CLUSTER_NODES, ...credentials };
  if (!REDIS_SENTINELS || REDIS_SENTINEL_NAME === undefined) return { embedded: { dataDir: variables.DATA_DIR } };
  const sentinelCredentials = withoutUndefined({
    sentinelUsername: variables.REDIS_SENTINEL_USERNAME,
    sentinelPassword: variables.REDIS_SENTINEL_PASSWORD,
  });
  return { sentinels: REDIS_SENTINELS, name: REDIS_SENTINEL_NAME, ...credentials, ...sentinelCredentials };
}

function withoutUndefined<T extends object>(values: T): Partial<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<T>;
}

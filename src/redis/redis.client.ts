import { Cluster, Redis, type ClusterOptions, type RedisOptions as ClientOptions } from 'ioredis';
import type { ConnectionOptions } from 'node:tls';
import { watchCommands } from './command.watchdog.js';
import { OutageLog, type RedisLogger } from './outage.log.js';
import type { ClusterConnection, RemoteConnection, SentinelConnection, UrlConnection } from './redis.options.js';
import { isReadOnlyReply } from './redis.errors.js';
import { describeTarget } from './redis.target.js';
import { parseRedisUrl } from './redis.url.js';

export type RedisClient = Redis | Cluster;

export interface RedisClientOptions {
  /** A command that gets no answer for this long fails, and the connection with it. */
  commandTimeoutMs: number;
  logger: RedisLogger;
}

const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 1_000;
/** How long a closing connection may take before it is cut. */
const DISCONNECT_MS = 500;

/**
 * Makes a client that is not connected yet. It never sends a command twice and never keeps one for later: while Redis is
 * away every command fails at once, and a command whose reply is lost fails, though it may have been carried out.
 * It reconnects for ever, and logs each outage once.
 */
export function createRedisClient(connection: RemoteConnection, options: RedisClientOptions): RedisClient {
  const outages = new OutageLog(describeTarget(connection), options.logger);
  if ('clusterNodes' in connection) return createCluster(connection, options, outages);
  const client = new Redis({
    ...commonOptions(options, () => outages.demoted()),
    ...('url' in connection ? urlOptions(connection) : sentinelOptions(connection, options)),
    enableOfflineQueue: false,
    retryStrategy,
  });
  watchCommands(client, options.commandTimeoutMs);
  outages.watch(client);
  return client;
}

function retryStrategy(attempt: number): number {
  return Math.min(FIRST_RETRY_MS * 2 ** Math.min(attempt - 1, 10), LONGEST_RETRY_MS);
}

function commonOptions({ commandTimeoutMs }: RedisClientOptions, onReadOnly?: () => void): ClientOptions {
  return {
    lazyConnect: true,
    connectTimeout: commandTimeoutMs,
    disconnectTimeout: DISCONNECT_MS,
    // Together these reject whatever is in flight when the connection breaks, and send none of it again.
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    maxLoadingRetryTime: 500,
    // After a failover the old primary answers READONLY: reconnect, to find the new one; 1 is "do not send again".
    reconnectOnError: (error) => {
      if (!isReadOnlyReply(error)) return false;
      onReadOnly?.();
      return 1;
    },
  };
}

function urlOptions(connection: UrlConnection): ClientOptions {
  const { tls, ...endpoint } = parseRedisUrl(connection.url);
  return { ...endpoint, ...(tls ? { tls: tlsOptions(connection.tls ?? true) } : {}) };
}

function sentinelOptions(connection: SentinelConnection, { commandTimeoutMs }: RedisClientOptions): ClientOptions {
  const tls = tlsOptions(connection.tls);
  return {
    sentinels: connection.sentinels.map(({ host, port }) => ({ host, port })),
    name: connection.name,
    ...credentialsOf(connection),
    sentinelUsername: connection.sentinelUsername,
    sentinelPassword: connection.sentinelPassword,
    sentinelCommandTimeout: commandTimeoutMs,
    sentinelRetryStrategy: retryStrategy,
    ...(tls ? { tls, sentinelTLS: tls, enableTLSForSentinelMode: true } : {}),
  };
}

function createCluster(connection: ClusterConnection, options: RedisClientOptions, outages: OutageLog): Cluster {
  const tls = tlsOptions(connection.tls);
  const clusterOptions: ClusterOptions = {
    lazyConnect: true,
    enableOfflineQueue: false,
    // Above 0 the client would send a command again after a lost connection, though it may have been carried out.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    slotsRefreshTimeout: options.commandTimeoutMs,
    clusterRetryStrategy: retryStrategy,
    redisOptions: { ...commonOptions(options), ...credentialsOf(connection), ...(tls ? { tls } : {}) },
    // A TLS certificate is for a name, which must not be resolved away.
    ...(tls ? { dnsLookup: (name: string, found: (error: null, address: string) => void) => found(null, name) } : {}),
  };
  const cluster = new Cluster([...connection.clusterNodes], clusterOptions);
  outages.watchCluster(cluster);
  cluster.on('+node', (node: Redis) => {
    watchCommands(node, options.commandTimeoutMs);
  });
  connectNodesEarly(cluster);
  return cluster;
}

/** Without an offline queue a node that connects only with its first command would fail the commands right behind it. */
function connectNodesEarly(cluster: Cluster): void {
  const connectAll = (): void => {
    for (const node of cluster.nodes()) if (node.status === 'wait') node.connect().catch(() => undefined);
  };
  cluster.on('ready', connectAll);
  cluster.on('+node', () => {
    if (cluster.status === 'ready') process.nextTick(connectAll);
  });
}

function credentialsOf({ username, password }: ClusterConnection | SentinelConnection): ClientOptions {
  return { ...(username === undefined ? {} : { username }), ...(password === undefined ? {} : { password }) };
}

function tlsOptions(tls: boolean | ConnectionOptions | undefined): ConnectionOptions | undefined {
  if (tls === true) return {};
  return tls === false ? undefined : tls;
}

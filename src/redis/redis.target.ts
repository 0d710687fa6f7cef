import type { RedisAddress, RemoteConnection } from './redis.options.js';
import { parseRedisUrl } from './redis.url.js';

/** Names the server of a connection for people: addresses, socket path, primary's name; never a user or a password. */
export function describeTarget(connection: RemoteConnection): string {
  if ('clusterNodes' in connection) return `the cluster ${describeAddresses(connection.clusterNodes)}`;
  if ('sentinels' in connection) {
    return `the primary "${connection.name}" of the sentinels ${describeAddresses(connection.sentinels)}`;
  }
  const { path, host, port } = parseRedisUrl(connection.url);
  return path ?? describeAddress({ host: host ?? 'localhost', port: port ?? 6379 });
}

function describeAddresses(addresses: readonly RedisAddress[]): string {
  return addresses.map(describeAddress).join(', ');
}

function describeAddress({ host, port }: RedisAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

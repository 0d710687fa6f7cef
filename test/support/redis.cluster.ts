import { freePort } from './free.port.js';
import { startRedis, type RedisServer, type StartRedisOptions } from './redis.server.js';
import { waitUntil } from './wait.until.js';

const SLOTS = 16_384;

export interface RedisClusterServers {
  nodes: RedisServer[];
  stop(): Promise<void>;
}

/** Starts a Redis Cluster of primaries that share all slots, and waits until each of them calls it ok. */
export async function startCluster(size = 3, options: StartRedisOptions = {}): Promise<RedisClusterServers> {
  const nodes = await Promise.all(Array.from({ length: size }, () => startNode(options)));
  try {
    await join(nodes);
  } catch (error) {
    await stopAll(nodes);
    throw error;
  }
  return { nodes, stop: () => stopAll(nodes) };
}

async function join(nodes: readonly RedisServer[]): Promise<void> {
  const size = nodes.length;
  const [first, ...others] = nodes.map((node) => node.client());
  for (const [n, client] of [first!, ...others].entries()) {
    const from = Math.floor((n * SLOTS) / size);
    const to = Math.floor(((n + 1) * SLOTS) / size) - 1;
    await client.call('CLUSTER', 'ADDSLOTSRANGE', from, to);
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', n + 1);
  }
  for (const node of nodes.slice(1)) await first!.call('CLUSTER', 'MEET', '127.0.0.1', node.port);
  for (const client of [first!, ...others]) {
    const isOk = async () => {
      const info = String(await client.call('CLUSTER', 'INFO'));
      return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${size}`);
    };
    await waitUntil(isOk, { deadlineMs: 20_000, what: 'the cluster to be ok' });
  }
}

async function stopAll(nodes: readonly RedisServer[]): Promise<void> {
  await Promise.all(nodes.map((node) => node.stop()));
}

/** The bus of a node listens on its port plus 10,000. */
async function startNode({ args = [], ...options }: StartRedisOptions): Promise<RedisServer> {
  const port = await freePort(22_000);
  return startRedis({
    ...options,
    port,
    args: ['--cluster-enabled', 'yes', '--cluster-node-timeout', '2000', ...args],
  });
}

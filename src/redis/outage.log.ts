import type { Cluster, Redis } from 'ioredis';
import { describeRedisError } from './redis.errors.js';

/** The part of Nest's logger that is needed here. */
export interface RedisLogger {
  log(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

/** The most nodes whose outages are remembered; the oldest is forgotten first. */
const MAX_TARGETS = 100;

/** Logs the beginning and the end of each outage, once each, however many commands and reconnections fail within it. */
export class OutageLog {
  private readonly since = new Map<string, number>();
  private isDemoted = false;

  /** @param target how the server is named in the log; holds no credentials */
  constructor(
    private readonly target: string,
    private readonly logger: RedisLogger,
  ) {}

  /** Follows a client of one server. */
  watch(client: Redis): void {
    client.on('error', (error: Error) => this.begin(this.target, describeRedisError(error)));
    client.on('reconnecting', () => this.begin(this.target, 'the connection was closed'));
    client.on('ready', () => {
      if (!this.isDemoted) return this.end(this.target);
      void isPrimary(client).then((primary) => {
        if (primary) this.end(this.target);
      });
    });
  }

  /** Follows a cluster as a whole and each of its nodes. */
  watchCluster(cluster: Cluster): void {
    cluster.on('error', (error: Error) => this.begin(this.target, describeRedisError(error)));
    cluster.on('reconnecting', () => this.begin(this.target, 'no node can be reached'));
    cluster.on('ready', () => this.end(this.target));
    cluster.on('node error', (error: Error, key: string) => this.begin(key, describeRedisError(error)));
    cluster.on('+node', (node: Redis) => {
      node.on('ready', () => this.end(`${node.options.host}:${node.options.port}`));
    });
  }

  /** The server answered that it is a read-only replica now: to reconnect to it is not the end of the outage. */
  demoted(): void {
    this.isDemoted = true;
    this.begin(this.target, 'it is a read-only replica now');
  }

  private begin(target: string, reason: string): void {
    if (this.since.has(target)) return;
    const [oldest] = this.since.keys();
    if (oldest !== undefined && this.since.size >= MAX_TARGETS) this.since.delete(oldest);
    this.since.set(target, Date.now());
    this.logger.error(`Redis (${target}) is unavailable: ${reason}. Commands fail until it is back.`);
  }

  private end(target: string): void {
    const since = this.since.get(target);
    if (since === undefined) return;
    this.since.delete(target);
    this.isDemoted = false;
    this.logger.log(`Redis (${target}) is back after ${((Date.now() - since) / 1000).toFixed(1)} s.`);
  }
}

/** A user that may not ask for the role counts as connected to a primary; the next READONLY tells otherwise. */
async function isPrimary(client: Redis): Promise<boolean> {
  try {
    return (await client.role())[0] === 'master';
  } catch (error) {
    return describeRedisError(error).startsWith('NOPERM');
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { OnApplicationShutdown } from '@nestjs/common';
import { Redis } from 'ioredis';
import { RedisUnavailableError } from '../errors/domain.errors.js';
import { redisCall } from './redis.call.js';
import type { RedisClient } from './redis.client.js';

/** A second connection, for messages; opened when somebody first listens, and renewed with its subscriptions when it breaks. */
export class RedisMessages implements OnApplicationShutdown {
  private connection: RedisClient | undefined;
  private readonly listeners = new Map<string, (message: string) => void>();
  private readonly subscribed = new Map<string, Promise<unknown>>();

  /**
   * @param commands the client for commands, which goes to the same Redis
   * @param timeoutMs how long a subscription may take
   */
  constructor(
    private readonly commands: RedisClient,
    private readonly timeoutMs: number,
  ) {}

  /**
   * Listens to a channel; resolves when messages arrive. A message while the connection is broken is lost.
   *
   * @throws RedisUnavailableError when Redis cannot be reached now
   */
  async listen(channel: string, listener: (message: string) => void): Promise<void> {
    this.listeners.set(channel, listener);
    let subscribing = this.subscribed.get(channel);
    if (!subscribing) {
      subscribing = Promise.race([redisCall(this.open().subscribe(channel)), this.tooLate()]);
      this.subscribed.set(channel, subscribing);
      subscribing.catch(() => this.subscribed.delete(channel));
    }
    await subscribing;
  }

  onApplicationShutdown(): void {
    this.close();
  }

  close(): void {
    this.connection?.disconnect();
    this.connection = undefined;
  }

  private async tooLate(): Promise<never> {
    await sleep(this.timeoutMs, undefined, { ref: false });
    throw new RedisUnavailableError('Redis did not answer in time.');
  }

  private open(): RedisClient {
    if (this.connection) return this.connection;
    // The commands' client reports outages; this one only comes back after them.
    const own = { enableOfflineQueue: true, lazyConnect: false, maxRetriesPerRequest: 1 };
    const { commands } = this;
    const connection = commands instanceof Redis ? commands.duplicate(own) : commands.duplicate([], own);
    connection.on('error', () => undefined);
    connection.on('message', (channel: string, message: string) => this.listeners.get(channel)?.(message));
    this.connection = connection;
    return connection;
  }
}

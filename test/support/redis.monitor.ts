import { once } from 'node:events';
import { type Socket, connect } from 'node:net';

const DEADLINE_MS = 10_000;

/**
 * Sees the commands that a Redis is sent from now on. ioredis' own `monitor()` breaks where the first command arrives
 * together with the answer.
 */
export class RedisMonitor {
  private seen = '';

  private constructor(private readonly socket: Socket) {
    socket.setEncoding('utf8').on('data', (text: string) => (this.seen += text));
  }

  static async start(url: string): Promise<RedisMonitor> {
    const { hostname, port } = new URL(url);
    const monitor = new RedisMonitor(connect(Number(port), hostname));
    monitor.socket.write('MONITOR\r\n');
    await monitor.until('+OK');
    return monitor;
  }

  /** Resolves at once when a command with that among its keys and arguments, which are parted by spaces, has been sent. */
  async untilSent(part: string): Promise<void> {
    // Redis writes each argument in quotes, and escapes those within.
    const written = part.replaceAll('"', String.raw`\"`).replaceAll(' ', '" "');
    await this.until(written);
    this.socket.destroy();
  }

  private async until(text: string): Promise<void> {
    while (!this.seen.includes(text)) await once(this.socket, 'data', { signal: AbortSignal.timeout(DEADLINE_MS) });
  }
}

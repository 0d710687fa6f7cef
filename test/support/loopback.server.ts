import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { waitUntil } from './wait.until.js';

/** A server on a free port of loopback that knows its connections. */
export class LoopbackServer {
  private readonly open = new Set<Socket>();
  /** Connections that clients made so far. */
  connections = 0;
  /** The most that were open at the same time. */
  mostOpen = 0;

  private constructor(private readonly server: Server) {}

  /** @param server not listening yet; an HTTP or TLS server will do */
  static async start(server: Server): Promise<LoopbackServer> {
    const started = new LoopbackServer(server);
    server.on('connection', (socket: Socket) => started.count(socket));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return started;
  }

  /** A server that does this with each connection. */
  static async handling(handle: (socket: Socket) => void): Promise<LoopbackServer> {
    return LoopbackServer.start(createServer(handle));
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Connections that are open now. */
  get openNow(): number {
    return this.open.size;
  }

  /** Waits until every client has gone. */
  async deserted(): Promise<void> {
    await waitUntil(() => this.open.size === 0, { what: `the last of ${this.open.size} connections to be closed` });
  }

  async stop(): Promise<void> {
    for (const socket of this.open) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private count(socket: Socket): void {
    this.connections += 1;
    this.open.add(socket);
    this.mostOpen = Math.max(this.mostOpen, this.open.size);
    socket.on('error', () => undefined);
    socket.on('close', () => this.open.delete(socket));
  }
}

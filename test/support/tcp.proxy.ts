import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

type Mode = 'pass' | 'drop-requests' | 'drop-replies' | 'stall';

/** Stands between a client and a server on loopback and does to the traffic what networks do. */
export class TcpProxy {
  private mode: Mode = 'pass';
  private rewriting: { from: string; to: string } | undefined;
  private readonly pairs = new Set<[client: Socket, server: Socket]>();
  private awaited: { text: string; seen: () => void } | undefined;
  private readonly held: (() => void)[] = [];
  /** Ends that missed something. Nothing reaches them any more: TCP never leaves a gap. */
  private readonly cutOff = new WeakSet<Socket>();
  /** Connections that clients made so far. */
  connections = 0;

  private constructor(
    private readonly server: Server,
    private readonly targetPort: number,
  ) {
    server.on('connection', (client) => this.join(client));
  }

  static async start(targetPort: number): Promise<TcpProxy> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new TcpProxy(server, targetPort);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Puts one text of a reply in place of another of the same length. */
  rewriteReplies(from: string, to: string): void {
    if (from.length !== to.length) throw new Error('the texts differ in length');
    this.rewriting = { from, to };
  }

  /** What clients send is lost, and on the connections that lost something whatever they send later. */
  dropRequests(): void {
    this.mode = 'drop-requests';
  }

  /** What the server answers is lost, likewise: commands take effect, and nobody is told. */
  dropReplies(): void {
    this.mode = 'drop-replies';
  }

  /** Holds both directions back until `pass`. */
  stall(): void {
    this.mode = 'stall';
  }

  /** Lets a request through that holds this text, and holds back what comes after it, its reply included, until `pass`. */
  stallAfter(text: string): Promise<void> {
    return new Promise((resolve) => {
      this.awaited = { text, seen: resolve };
    });
  }

  pass(): void {
    this.mode = 'pass';
    for (const release of this.held.splice(0)) release();
  }

  /** Cuts every connection; new ones are accepted. */
  cut(): void {
    for (const pair of this.pairs) for (const socket of pair) socket.destroy();
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private join(client: Socket): void {
    this.connections += 1;
    const server = connect(this.targetPort, '127.0.0.1');
    const pair: [Socket, Socket] = [client, server];
    this.pairs.add(pair);
    client.on('data', (data) => this.forward(data, server, 'drop-requests'));
    server.on('data', (data) => this.forward(this.rewrite(data), client, 'drop-replies'));
    for (const socket of pair) {
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.pairs.delete(pair);
        for (const other of pair) other.destroy();
      });
    }
  }

  private rewrite(data: Buffer): Buffer {
    if (!this.rewriting) return data;
    const { from, to } = this.rewriting;
    return Buffer.from(data.toString('latin1').replaceAll(from, to), 'latin1');
  }

  private forward(data: Buffer, to: Socket, lossy: Mode): void {
    if (this.mode === lossy) this.cutOff.add(to);
    if (this.cutOff.has(to)) return;
    if (this.mode === 'stall') this.held.push(() => to.write(data));
    else to.write(data);
    if (!this.awaited || !data.includes(this.awaited.text)) return;
    this.mode = 'stall';
    this.awaited.seen();
    this.awaited = undefined;
  }
}

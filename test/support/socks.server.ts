import { connect, type Socket } from 'node:net';
import { LoopbackServer } from './loopback.server.js';

export interface SocksOptions {
  /** Who may use it: the user id of SOCKS4, user name and password of SOCKS5. Everybody, if absent. */
  user?: string;
  password?: string;
  /** The address that connections to targets come from. */
  localAddress?: string;
  /** Answers each request so, instead of connecting; a reply code of SOCKS5 or SOCKS4. */
  reply?: number;
}

/** What a client asked to be connected to, as it named it. */
interface Asked {
  version: 4 | 5;
  host: string;
  port: number;
  user?: string;
}

/** A SOCKS server for tests: versions 4, 4a and 5 with CONNECT (RFC 1928, RFC 1929), and names by the system's resolver. */
export class SocksServer {
  readonly asked: Asked[] = [];

  private constructor(
    readonly server: LoopbackServer,
    private readonly options: SocksOptions,
  ) {}

  static async start(options: SocksOptions = {}): Promise<SocksServer> {
    const started: { socks?: SocksServer } = {};
    const server = await LoopbackServer.handling((socket) => {
      void started.socks?.serve(socket).catch(() => socket.destroy());
    });
    return (started.socks = new SocksServer(server, options));
  }

  get port(): number {
    return this.server.port;
  }

  async stop(): Promise<void> {
    await this.server.stop();
  }

  private async serve(client: Socket): Promise<void> {
    const read = new SocketReader(client);
    const [version] = await read.bytes(1);
    const asked = version === 4 ? await this.greet4(client, read) : await this.greet5(client, read);
    if (!asked) return;
    this.asked.push(asked);
    const { reply } = this.options;
    if (reply !== undefined) return void client.end(replyTo(asked.version, reply));
    const target = connect({ host: asked.host, port: asked.port, localAddress: this.options.localAddress });
    const unreachable = asked.version === 4 ? 91 : 5;
    target.on('error', () => client.end(replyTo(asked.version, unreachable)));
    target.on('connect', () => {
      client.write(replyTo(asked.version, asked.version === 4 ? 90 : 0));
      client.pipe(target).pipe(client);
    });
    client.on('close', () => target.destroy());
    target.on('close', () => client.destroy());
  }

  private async greet4(client: Socket, read: SocketReader): Promise<Asked | undefined> {
    const head = await read.bytes(7);
    const user = await read.untilNull();
    const address = [...head.subarray(3)];
    const named = address.slice(0, 3).every((byte) => byte === 0);
    const host = named ? await read.untilNull() : address.join('.');
    if (this.options.user !== undefined && user !== this.options.user) return void client.end(replyTo(4, 93));
    return { version: 4, host, port: head.readUInt16BE(1), user };
  }

  private async greet5(client: Socket, read: SocketReader): Promise<Asked | undefined> {
    const [count = 0] = await read.bytes(1);
    const methods = await read.bytes(count);
    const method = this.options.user === undefined ? 0 : 2;
    if (!methods.includes(method)) return void client.end(Buffer.from([5, 0xff]));
    client.write(Buffer.from([5, method]));
    if (method === 2 && !(await this.authenticate(client, read))) return undefined;
    const [, , , type] = await read.bytes(4);
    const host = await readHost(read, type ?? 0);
    return { version: 5, host, port: (await read.bytes(2)).readUInt16BE() };
  }

  private async authenticate(client: Socket, read: SocketReader): Promise<boolean> {
    await read.bytes(1);
    const user = await read.counted();
    const password = await read.counted();
    const right = user === this.options.user && password === (this.options.password ?? '');
    if (right) client.write(Buffer.from([1, 0]));
    else client.end(Buffer.from([1, 1]));
    return right;
  }
}

async function readHost(read: SocketReader, type: number): Promise<string> {
  if (type === 1) return [...(await read.bytes(4))].join('.');
  if (type === 3) return read.counted();
  const groups = (await read.bytes(16)).toString('hex').match(/.{4}/g) ?? [];
  return groups.join(':');
}

function replyTo(version: 4 | 5, code: number): Buffer {
  return version === 4 ? Buffer.from([0, code, 0, 0, 0, 0, 0, 0]) : Buffer.from([5, code, 0, 1, 0, 0, 0, 0, 0, 0]);
}

/** Reads a socket piece by piece, and leaves the rest in it. */
class SocketReader {
  constructor(private readonly socket: Socket) {
    socket.pause();
  }

  async bytes(count: number): Promise<Buffer> {
    if (count === 0) return Buffer.alloc(0);
    for (;;) {
      const bytes = this.socket.read(count) as Buffer | null;
      if (bytes?.length === count) return bytes;
      if (this.socket.readableEnded || this.socket.destroyed) throw new Error('the client has gone');
      await new Promise((resolve) => {
        for (const event of ['readable', 'end', 'close']) this.socket.once(event, resolve);
      });
    }
  }

  async counted(): Promise<string> {
    const [length = 0] = await this.bytes(1);
    return (await this.bytes(length)).toString();
  }

  async untilNull(): Promise<string> {
    const bytes: number[] = [];
    for (;;) {
      const [byte = 0] = await this.bytes(1);
      if (byte === 0) return Buffer.from(bytes).toString();
      bytes.push(byte);
    }
  }
}

import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Certificate } from './certificate.js';
import { LoopbackServer } from './loopback.server.js';

/** Where the targets of probes are; it answers with the address that a request came from, or as a test wants. */
export class TargetServer {
  /** Requests that came so far. */
  readonly requests: IncomingMessage[] = [];
  respond: RequestListener = (request, response) => response.end(`${request.socket.remoteAddress}\n`);

  private constructor(private readonly scheme: 'http' | 'https') {}

  private server!: LoopbackServer;

  static async start(certificate?: Certificate): Promise<TargetServer> {
    const target = new TargetServer(certificate ? 'https' : 'http');
    const answer: RequestListener = (request, response) => {
      target.requests.push(request);
      target.respond(request, response);
    };
    target.server = await LoopbackServer.start(
      certificate ? createTlsServer(certificate, answer) : createServer(answer),
    );
    return target;
  }

  get url(): string {
    return this.at('127.0.0.1');
  }

  get port(): number {
    return this.server.port;
  }

  /** The same server by another name. */
  at(host: string): string {
    return `${this.scheme}://${host}:${this.server.port}/ip?from=probe`;
  }

  get connections(): LoopbackServer {
    return this.server;
  }

  async stop(): Promise<void> {
    await this.server.stop();
  }
}

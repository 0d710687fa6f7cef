import { createServer, type AddressInfo, type Socket } from 'node:net';
import { Server as ProxyChain, type PrepareRequestFunction } from 'proxy-chain';
import type { Certificate } from './certificate.js';
import { LoopbackServer } from './loopback.server.js';

export interface HttpProxyOptions {
  /** Who may use it; everybody, if absent. */
  user?: string;
  password?: string;
  /** The address that connections to targets come from. */
  localAddress?: string;
  /** Makes it an HTTPS proxy. */
  certificate?: Certificate;
}

/** A working HTTP proxy, which forwards and tunnels. */
export async function startHttpProxy(options: HttpProxyOptions = {}): Promise<LoopbackServer> {
  const { user, password = '', localAddress, certificate } = options;
  const prepareRequestFunction: PrepareRequestFunction = (request) => ({
    requestAuthentication: user !== undefined && (request.username !== user || request.password !== password),
    ...(localAddress !== undefined && { localAddress }),
  });
  const proxy = certificate
    ? new ProxyChain({ prepareRequestFunction, serverType: 'https', httpsOptions: certificate })
    : new ProxyChain({ prepareRequestFunction });
  return LoopbackServer.start(proxy.server);
}

/** A port of loopback where nothing listens. */
export async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Accepts connections, reads, and never answers. */
export function startHangingProxy(): Promise<LoopbackServer> {
  return LoopbackServer.handling((socket) => socket.resume());
}

/** Answers whatever it is sent with the same bytes. */
export function startParrotProxy(bytes: string | Buffer): Promise<LoopbackServer> {
  return LoopbackServer.handling((socket) => socket.once('data', () => socket.write(bytes)));
}

/** Hangs up on whatever it is sent. */
export function startHangingUpProxy(): Promise<LoopbackServer> {
  return LoopbackServer.handling((socket) => socket.once('data', () => socket.destroy()));
}

/** Answers CONNECT with 200, and then does this with the tunnel. */
export function startTunnelEnd(then: (tunnel: Socket) => void): Promise<LoopbackServer> {
  return LoopbackServer.handling((socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      then(socket);
    });
  });
}

/** Answers each request with 200, one byte of a body that never ends at a time. */
export function startDrippingProxy(): Promise<LoopbackServer> {
  return LoopbackServer.handling((socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n');
      const drips = setInterval(() => socket.write('.'), 20);
      socket.on('close', () => clearInterval(drips));
    });
  });
}

/** Answers each request with 200, this much later. */
export function startSlowProxy(delayMs: number): Promise<LoopbackServer> {
  return LoopbackServer.handling((socket) => {
    socket.once('data', () => {
      const answer = setTimeout(() => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'), delayMs);
      socket.on('close', () => clearTimeout(answer));
    });
  });
}

import { randomBytes } from 'node:crypto';
import { createServer, type AddressInfo } from 'node:net';
import type { UrlConnection } from '../redis.options.js';

/** Where the embedded server listens: a socket, or a loopback port that asks for a password. */
export type ServerEndpoint = { socketPath: string } | { port: number; password: string };

/** A socket's path must fit 104 bytes on macOS and 108 on Linux, its end included. */
const LONGEST_SOCKET_PATH_BYTES = 100;

export function fitsSocket(socketPath: string): boolean {
  return Buffer.byteLength(socketPath) <= LONGEST_SOCKET_PATH_BYTES;
}

/** A port of loopback that is free now, with a new random password. */
export async function chooseLoopbackEndpoint(): Promise<ServerEndpoint> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return { port, password: randomBytes(24).toString('hex') };
}

export function connectionTo(endpoint: ServerEndpoint): UrlConnection {
  if ('port' in endpoint) return { url: `redis://:${endpoint.password}@127.0.0.1:${endpoint.port}` };
  return { url: `unix://${endpoint.socketPath.split('/').map(encodeURIComponent).join('/')}` };
}

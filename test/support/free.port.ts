import { createServer } from 'node:net';

/** A port on loopback that nothing listened on a moment ago; below the ephemeral range, so that no client takes it. */
export async function freePort(highest = 32_000): Promise<number> {
  for (;;) {
    const port = 12_000 + Math.floor(Math.random() * (highest - 12_000));
    if (await canListen(port)) return port;
  }
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

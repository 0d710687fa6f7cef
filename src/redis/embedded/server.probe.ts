import { connect, type Socket } from 'node:net';
import type { ServerEndpoint } from './server.endpoint.js';

export interface ServerAnswer {
  pid: number;
  /** It answers, but has not read all its data yet. */
  isLoading: boolean;
}

const PROBE_TIMEOUT_MS = 1_000;

/** Asks whoever listens at an endpoint who it is; undefined when nobody answers, or not to this password. */
export async function askServer(endpoint: ServerEndpoint): Promise<ServerAnswer | undefined> {
  const login = 'port' in endpoint ? `AUTH ${endpoint.password}\r\n` : '';
  const reply = await converse(endpoint, `${login}PING\r\nINFO server\r\nQUIT\r\n`);
  const pid = /^process_id:(\d+)\r$/m.exec(reply)?.[1];
  return pid === undefined ? undefined : { pid: Number(pid), isLoading: /^-LOADING /m.test(reply) };
}

/** Sends a text and collects what comes back until the other side closes. */
function converse(endpoint: ServerEndpoint, text: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = open(endpoint);
    let reply = '';
    socket.setEncoding('utf8');
    socket.setTimeout(PROBE_TIMEOUT_MS, () => socket.destroy());
    socket.on('connect', () => socket.write(text));
    socket.on('data', (data: string) => (reply += data));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(reply));
  });
}

function open(endpoint: ServerEndpoint): Socket {
  return 'port' in endpoint ? connect(endpoint.port, '127.0.0.1') : connect(endpoint.socketPath);
}

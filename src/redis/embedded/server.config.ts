import type { ServerEndpoint } from './server.endpoint.js';

/** The server's configuration file. It goes by file, since arguments, and so a password, show in the process list. */
export function serverConfig(directory: string, endpoint: ServerEndpoint): string {
  const lines = [
    ...('port' in endpoint
      ? [`port ${endpoint.port}`, 'bind 127.0.0.1', `requirepass ${quote(endpoint.password)}`]
      : ['port 0', `unixsocket ${quote(endpoint.socketPath)}`, 'unixsocketperm 700']),
    `dir ${quote(directory)}`,
    'daemonize no',
    'protected-mode yes',
    'appendonly yes',
    'appendfsync everysec',
    'save ""',
    // What is large is freed in the background.
    'lazyfree-lazy-expire yes',
    'lazyfree-lazy-server-del yes',
    'maxmemory-policy noeviction',
    'logfile ""',
  ];
  return `${lines.join('\n')}\n`;
}

function quote(value: string): string {
  return `"${value.replace(/["\\]/g, '\\$&').replace(/\n/g, '\\n').replace(/\r/g, '\\r')}"`;
}

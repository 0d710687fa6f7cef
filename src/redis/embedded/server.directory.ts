import {
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { parseIdentity, type ProcessIdentity } from './process.identity.js';
import type { ServerEndpoint } from './server.endpoint.js';

const LOG_LIMIT_BYTES = 1024 * 1024;
const TAIL_BYTES = 4_096;
const TAIL_LINES = 15;

/** The embedded server's directory, `redis` under the data directory: only its owner may enter. */
export class ServerDirectory {
  readonly path: string;

  constructor(dataDir: string) {
    this.path = resolve(dataDir, 'redis');
    mkdirSync(this.path, { recursive: true, mode: 0o700 });
    chmodSync(this.path, 0o700);
  }

  get lockPath(): string {
    return join(this.path, 'service.lock');
  }

  get socketPath(): string {
    return join(this.path, 'redis.sock');
  }

  get configPath(): string {
    return join(this.path, 'redis.conf');
  }

  get logPath(): string {
    return join(this.path, 'redis.log');
  }

  /** Empties a log that has grown large. */
  trimLog(): void {
    if (this.logSize() > LOG_LIMIT_BYTES) truncateSync(this.logPath, 0);
  }

  /** Opens the log for the server to append to. */
  openLog(): number {
    return openSync(this.logPath, 'a', 0o600);
  }

  logSize(): number {
    return statSync(this.logPath, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** The last lines of the log from an offset on, indented to stand below a message. */
  readLogTail(fromByte: number): string {
    const size = this.logSize();
    const start = Math.max(fromByte, size - TAIL_BYTES);
    const buffer = Buffer.alloc(Math.max(size - start, 0));
    const file = openSync(this.logPath, 'r');
    try {
      readSync(file, buffer, 0, buffer.length, start);
    } finally {
      closeSync(file);
    }
    const lines = buffer
      .toString('utf8')
      .split('\n')
      .filter((line) => line.trim() !== '');
    return lines
      .slice(-TAIL_LINES)
      .map((line) => `  ${line}`)
      .join('\n');
  }

  writeConfig(text: string): void {
    this.write('redis.conf', text);
  }

  /** Remembers the server's process, for a later service to find it. */
  writeProcess(identity: ProcessIdentity): void {
    this.write('server.json', JSON.stringify(identity));
  }

  readProcess(): ProcessIdentity | undefined {
    return parseIdentity(this.read('server.json') ?? '');
  }

  /** Remembers port and password of a server that has no socket. */
  writeEndpoint(endpoint: ServerEndpoint): void {
    this.write('endpoint.json', JSON.stringify(endpoint));
  }

  readEndpoint(): ServerEndpoint | undefined {
    try {
      const { port, password } = JSON.parse(this.read('endpoint.json') ?? '') as { port?: unknown; password?: unknown };
      return typeof port === 'number' && typeof password === 'string' ? { port, password } : undefined;
    } catch {
      return undefined;
    }
  }

  /** Replaces a file as a whole, readable by its owner only. */
  private write(name: string, text: string): void {
    const path = join(this.path, name);
    writeFileSync(`${path}.new`, text, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  }

  private read(name: string): string | undefined {
    try {
      return readFileSync(join(this.path, name), 'utf8');
    } catch {
      return undefined;
    }
  }
}

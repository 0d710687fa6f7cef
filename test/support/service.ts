import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { exited, killAtExit } from './child.processes.js';
import { waitUntil } from './wait.until.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

export interface Answer<Body = Record<string, unknown>> {
  status: number;
  headers: Headers;
  body: Body;
}

/** The service as it is shipped: a process of its own, from the build, on a free port. */
export class RunningService {
  private constructor(
    readonly child: ChildProcess,
    readonly url: string,
    private readonly output: string[],
  ) {}

  /** @param env what the process finds in its environment, and nothing else */
  static async start(env: Record<string, string>): Promise<RunningService> {
    const { child, output } = RunningService.spawn(env);
    const isUp = () => /API +(http:\S+)\/v1/.exec(output.join(''))?.[1] ?? child.exitCode !== null;
    const url = await waitUntil(isUp, { deadlineMs: 30_000, what: 'the service to be up' });
    if (typeof url !== 'string') throw new Error(`The service ended with ${child.exitCode}: ${output.join('')}`);
    return new RunningService(child, url, output);
  }

  /** Starts a service that is not expected to come up; resolves when it has ended. */
  static async startInVain(env: Record<string, string>): Promise<{ code: number | null; output: string }> {
    const { child, output } = RunningService.spawn(env);
    await waitUntil(() => child.exitCode !== null, { deadlineMs: 30_000, what: 'the service to end' });
    return { code: child.exitCode, output: output.join('') };
  }

  private static spawn(env: Record<string, string>): { child: ChildProcess; output: string[] } {
    const child = spawn(process.execPath, [MAIN], {
      env: { PATH: process.env['PATH'] ?? '', PORT: '0', NO_COLOR: '1', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    killAtExit(child);
    const output: string[] = [];
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (data: Buffer) => output.push(data.toString()));
    return { child, output };
  }

  /** All that it has printed. */
  get log(): string {
    return this.output.join('');
  }

  /** Asks it to end, and waits until it has. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    if (this.child.exitCode === null) this.child.kill(signal);
    await exited(this.child);
    return this.child.exitCode;
  }

  /** Sends an object as JSON, and a text or bytes as they are, with the content type that `headers` names. */
  async call<Body = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer<Body>> {
    const raw = typeof body === 'string' || body instanceof Uint8Array;
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: { ...(body !== undefined && !raw && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: (raw ? body : JSON.stringify(body)) as string }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: (text === '' ? null : JSON.parse(text)) as Body,
    };
  }

  text(path: string, list: string): Promise<Answer> {
    return this.call('POST', path, list, { 'content-type': 'text/plain' });
  }
}

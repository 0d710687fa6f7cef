import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import { jobOf } from './external.ids.js';
import { LoopbackServer } from './loopback.server.js';

/** What a call comes to instead; `lost` does what it is told and then cuts the connection. */
export type ScrapydFault = 'hangs' | 'cuts' | 'lost' | 'rubbish' | 'empty' | 'traceback' | '401' | '500' | 'error';

export interface ScrapydOptions {
  /** 1.4 has no `status.json`, and takes one job of a project a poll. */
  version?: '1.4' | '1.6';
  pollMs?: number;
  maxProc?: number;
  /** How long a spider runs, unless its argument `ms` says otherwise; `hold` lets it run until `finish`. */
  runMs?: number | 'hold';
  finishedToKeep?: number;
  username?: string;
  password?: string;
  spiders?: readonly string[];
}

interface ScrapydJob {
  id: string;
  project: string;
  spider: string;
  priority: number;
  settings: Record<string, string>;
  args: Record<string, string>;
  start: Date | null;
  end: Date | null;
}

interface ParameterError {
  message: string;
}

const PROJECTS = ['shop'];

/** A stand-in for scrapyd that speaks its API as documented, forms of errors included, and runs no spider. */
export class ScrapydServer {
  /** Every job that `schedule.json` took, in the order of its calls; one twice that was told twice. */
  readonly scheduled: ScrapydJob[] = [];
  /** What the next calls of an endpoint come to. */
  readonly faults = new Map<string, ScrapydFault>();
  /** How often each endpoint was called. */
  readonly calls: Record<string, number> = {};
  /** The most that were pending and running at once. */
  most = 0;
  /** Called when a job was taken, before that is answered. */
  onScheduled: ((job: ScrapydJob) => void | Promise<void>) | undefined;

  private pending: ScrapydJob[] = [];
  private running: ScrapydJob[] = [];
  private finished: ScrapydJob[] = [];
  private readonly timers = new Set<NodeJS.Timeout>();
  private poller: NodeJS.Timeout;

  private constructor(
    private readonly options: Required<Omit<ScrapydOptions, 'username' | 'password'>> & ScrapydOptions,
    private readonly server: LoopbackServer,
  ) {
    this.poller = setInterval(() => this.poll(), options.pollMs);
  }

  static async start(options: ScrapydOptions = {}): Promise<ScrapydServer> {
    const all = {
      version: '1.6' as const,
      pollMs: 50,
      maxProc: 100,
      runMs: 100,
      finishedToKeep: 100,
      spiders: ['crawl'],
      ...options,
    };
    const http = createServer();
    const started = new ScrapydServer(all, await LoopbackServer.start(http));
    http.on('request', (request, response) => void started.handle(request, response));
    return started;
  }

  /** The daemon's address, with its user and password. */
  get address(): string {
    const { username, password } = this.options;
    const user = username === undefined ? '' : `${username}:${password ?? ''}@`;
    return `http://${user}127.0.0.1:${this.server.port}`;
  }

  get live(): number {
    return this.pending.length + this.running.length;
  }

  get runningIds(): string[] {
    return this.running.map(({ id }) => id);
  }

  /** Crawls that somebody else has scheduled, which run until `finishForeign`. */
  addForeign(count: number): void {
    for (let n = 0; n < count; n++) this.running.push({ ...blank(`foreign-${n}`), start: new Date() });
  }

  finishForeign(): void {
    for (const job of this.running.filter(({ id }) => id.startsWith('foreign-'))) this.end(job);
  }

  /** Ends a job that runs, or the one that runs longest. */
  finish(id: string | undefined = this.running.find((job) => !job.id.startsWith('foreign-'))?.id): void {
    const job = this.running.find((each) => each.id === id);
    if (job) this.end(job);
  }

  /** The daemon starts anew: what ran is forgotten, as is what has finished; what was pending is kept on its disk. */
  restart(): void {
    this.running = [];
    this.finished = [];
    for (const timer of this.timers) clearTimeout(timer);
    this.timers.clear();
  }

  /** The jobs that it was told to start, in order; one that is started again is there again. */
  get startedJobs(): string[] {
    return this.scheduled.map(({ id }) => jobOf(id));
  }

  /** External ids that were told more than once. */
  get twice(): string[] {
    const ids = this.scheduled.map(({ id }) => id);
    return ids.filter((id, n) => ids.indexOf(id) !== n);
  }

  async stop(): Promise<void> {
    clearInterval(this.poller);
    this.restart();
    await this.server.stop();
  }

  private poll(): void {
    const perProject = this.options.version === '1.4' ? 1 : this.options.maxProc;
    for (const project of new Set(this.pending.map((job) => job.project))) {
      for (let n = 0; n < perProject && this.running.length < this.options.maxProc; n++) {
        const job = this.pending
          .filter((each) => each.project === project)
          .reduce<ScrapydJob | undefined>(
            (best, each) => (best && best.priority >= each.priority ? best : each),
            undefined,
          );
        if (!job) break;
        this.pending.splice(this.pending.indexOf(job), 1);
        this.run(job);
      }
    }
  }

  private run(job: ScrapydJob): void {
    job.start = new Date();
    this.running.push(job);
    const ms = job.args['ms'] === undefined ? this.options.runMs : Number(job.args['ms']);
    if (ms === 'hold') return;
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      this.end(job);
    }, ms);
    this.timers.add(timer);
  }

  private end(job: ScrapydJob): void {
    const at = this.running.indexOf(job);
    if (at < 0) return;
    this.running.splice(at, 1);
    job.end = new Date();
    this.finished.push(job);
    this.finished.splice(0, this.finished.length - this.options.finishedToKeep);
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const endpoint = url.pathname.slice(1);
    this.calls[endpoint] = (this.calls[endpoint] ?? 0) + 1;
    const fault = this.faults.get(endpoint) ?? this.faults.get('*');
    if (fault === 'hangs') return;
    if (fault === 'cuts') return void request.socket.destroy();
    if (fault !== undefined && fault !== 'lost') return answerFault(response, fault);
    if (!this.isWelcome(request)) return plain(response, 401, 'Unauthorized');
    const body = new URLSearchParams(await textOf(request));
    const found = await this.answer(
      request.method ?? '',
      endpoint,
      request.method === 'POST' ? body : url.searchParams,
    );
    if (fault === 'lost') return void request.socket.destroy();
    if (found === undefined) return plain(response, 404, '<html><h1>No Such Resource</h1></html>', 'text/html');
    json(response, found);
  }

  private isWelcome({ headers }: IncomingMessage): boolean {
    const { username, password } = this.options;
    if (username === undefined) return true;
    return headers.authorization === `Basic ${Buffer.from(`${username}:${password ?? ''}`).toString('base64')}`;
  }

  /** Undefined where there is no such resource. */
  private async answer(method: string, endpoint: string, given: URLSearchParams): Promise<object | undefined> {
    switch (`${method} ${endpoint}`) {
      case 'GET daemonstatus.json':
        return { pending: this.pending.length, running: this.running.length, finished: this.finished.length };
      case 'POST schedule.json':
        return this.schedule(given);
      case 'POST cancel.json':
        return this.cancel(given);
      case 'GET listjobs.json':
        return this.listJobs();
      case 'GET status.json':
        return this.options.version === '1.4' ? undefined : this.status(given);
      default:
        return undefined;
    }
  }

  private async schedule(given: URLSearchParams): Promise<object> {
    const project = given.get('project');
    const spider = given.get('spider');
    if (project === null) return failed("'project' parameter is required");
    if (spider === null) return failed("'spider' parameter is required");
    if (!PROJECTS.includes(project)) return failed(`project '${project}' not found`);
    if (!this.options.spiders.includes(spider)) return failed(`spider '${spider}' not found`);
    const own = ['project', 'spider', 'jobid', '_version', 'priority', 'setting'];
    const job: ScrapydJob = {
      ...blank(given.get('jobid') ?? randomUUID().replaceAll('-', '')),
      project,
      spider,
      priority: Number(given.get('priority') ?? 0),
      settings: Object.fromEntries(
        given.getAll('setting').map((pair) => pair.split(/=(.*)/s).slice(0, 2) as [string, string]),
      ),
      args: Object.fromEntries([...given].filter(([key]) => !own.includes(key))),
    };
    this.scheduled.push(job);
    this.pending.push(job);
    this.most = Math.max(this.most, this.live);
    await this.onScheduled?.(job);
    return { jobid: job.id };
  }

  private cancel(given: URLSearchParams): object {
    const project = given.get('project');
    const id = given.get('job');
    if (project === null) return failed("'project' parameter is required");
    if (id === null) return failed("'job' parameter is required");
    if (!PROJECTS.includes(project)) return failed(`project '${project}' not found`);
    const isMine = (job: ScrapydJob) => job.project === project && job.id === id;
    const wasPending = this.pending.some(isMine);
    this.pending = this.pending.filter((job) => !isMine(job));
    const running = this.running.filter(isMine);
    // The process gets a signal, and closes in its own time.
    for (const job of running) setTimeout(() => this.end(job), 50);
    return { prevstate: running.length > 0 ? 'running' : wasPending ? 'pending' : null };
  }

  private status(given: URLSearchParams): object {
    const id = given.get('job');
    if (id === null) return failed("'job' parameter is required");
    const lists = { finished: this.finished, running: this.running, pending: this.pending };
    const found = Object.entries(lists).find(([, jobs]) => jobs.some((job) => job.id === id));
    return { currstate: found?.[0] ?? null };
  }

  private listJobs(): object {
    const shown = ({ id, project, spider }: ScrapydJob) => ({ id, project, spider });
    const began = (job: ScrapydJob) => ({ ...shown(job), start_time: job.start?.toISOString() });
    return {
      pending: this.pending.map((job) => ({ ...shown(job), version: null, settings: job.settings, args: job.args })),
      running: this.running.map((job) => ({ ...began(job), pid: 4_242 })),
      finished: this.finished.toReversed().map((job) => ({ ...began(job), end_time: job.end?.toISOString() })),
    };
  }
}

function blank(id: string): ScrapydJob {
  return { id, project: 'shop', spider: 'crawl', priority: 0, settings: {}, args: {}, start: null, end: null };
}

function failed(message: string): ParameterError {
  return { message };
}

/** Errors come with HTTP 200. */
function json(response: ServerResponse, found: object): void {
  const isError = 'message' in found;
  const text = JSON.stringify({
    ...(isError ? { status: 'error' } : { status: 'ok' }),
    ...found,
    node_name: 'stand-in',
  });
  plain(response, 200, `${text}\n`, 'application/json');
}

function plain(response: ServerResponse, status: number, text: string, type = 'text/plain'): void {
  response.writeHead(status, {
    'content-type': type,
    ...(status === 401 ? { 'www-authenticate': 'basic realm="Scrapyd"' } : {}),
  });
  response.end(text);
}

function answerFault(response: ServerResponse, fault: ScrapydFault): void {
  const traceback =
    'Traceback (most recent call last):\n  File "webservice.py", line 1\nscrapyd.exceptions.RunnerError: no';
  switch (fault) {
    case 'rubbish':
      return plain(response, 200, '<html>a captive portal</html>', 'text/html');
    case 'empty':
      return plain(response, 200, '');
    case 'traceback':
      return plain(response, 200, traceback);
    case '401':
      return plain(response, 401, 'Unauthorized');
    case '500':
      return plain(response, 500, '<html>Processing Failed</html>', 'text/html');
    default:
      return json(response, failed('something is wrong with the daemon'));
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

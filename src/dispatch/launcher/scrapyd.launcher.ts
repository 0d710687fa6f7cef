import { Injectable } from '@nestjs/common';
import { parseInput } from '../../errors/parse.input.js';
import {
  LaunchRefusedError,
  type Launcher,
  LauncherCallError,
  type LauncherJob,
  type LauncherNode,
  type LauncherState,
  type LauncherStatus,
} from './launcher.js';
import { type NodeAnswer, NodeNotReachedError, callNode, jsonOf, quoted } from './node.http.js';
import {
  type ScrapydOptions,
  type ScrapydPayload,
  scrapydOptionsSchema,
  scrapydPayloadSchema,
} from './scrapyd.payload.js';

/** So few jobs are asked about one by one, which spares a node that lists many. */
const MOST_SINGLE = 2;
const MAX_REMEMBERED = 10_000;
/** What `listjobs.json` lists; a later list counts where a job is in two. */
const LISTS = ['finished', 'pending', 'running'] as const;

/**
 * Starts spiders by the HTTP API of scrapyd 1.4 to 1.6 (https://scrapyd.readthedocs.io/en/latest/api.html). A member's value is the
 * daemon's address, with the user and password where it asks for them.
 */
@Injectable()
export class ScrapydLauncher implements Launcher<ScrapydOptions> {
  readonly name = 'scrapyd';
  /** Addresses of nodes that are too old for `status.json`. */
  private readonly withoutStatus = new Set<string>();

  parseOptions(options: unknown): ScrapydOptions {
    return parseInput(scrapydOptionsSchema, options, 'launcher');
  }

  checkPayload(
    payload: Readonly<Record<string, unknown>>,
    options: ScrapydOptions,
  ): { path: string; message: string } | undefined {
    const result = scrapydPayloadSchema.safeParse(payload);
    const issue = result.error?.issues[0];
    if (issue?.code === 'unrecognized_keys') return { path: String(issue.keys[0]), message: 'is not a known field' };
    if (issue) return { path: issue.path.join('.'), message: issue.message };
    if ((result.data?.spider ?? options.spider) !== undefined) return undefined;
    return { path: 'spider', message: 'is needed, since the queue names none in `launcher.spider`' };
  }

  /** Our own `jobid` goes along; scrapyd starts a job again that it is told again. */
  async start(node: LauncherNode, job: LauncherJob, options: ScrapydOptions, signal: AbortSignal): Promise<void> {
    const body = formOf(node, job, options);
    const answer = await callNode(node.address, { method: 'POST', path: 'schedule.json', body }, signal).catch(
      (error: unknown) => {
        if (!(error instanceof NodeNotReachedError)) throw error;
        throw new LaunchRefusedError(error.message, { fault: 'node', cause: error });
      },
    );
    requireWelcome(answer, (message) => new LaunchRefusedError(message, { fault: 'node' }));
    const said = jsonOf(answer);
    if (said?.['status'] === 'error') throw new LaunchRefusedError(`scrapyd said: ${quoted(said['message'], answer)}`);
    if (answer.status === 200 && said?.['status'] === 'ok' && said['jobid'] === job.externalId) return;
    throw new LauncherCallError(oddAnswer(answer));
  }

  /** Few jobs by `status.json`, which is there from 1.5 on, and many by `listjobs.json`; both know the same of them. */
  async status(
    node: LauncherNode,
    jobs: readonly LauncherJob[],
    _options: ScrapydOptions,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, LauncherStatus>> {
    if (jobs.length <= MOST_SINGLE && !this.withoutStatus.has(node.address)) {
      const states = await Promise.all(jobs.map(({ externalId }) => this.stateOf(node, externalId, signal)));
      if (!states.includes(undefined)) {
        return new Map(jobs.map(({ externalId }, n) => [externalId, { state: states[n] ?? 'unknown' }]));
      }
      if (this.withoutStatus.size >= MAX_REMEMBERED) this.withoutStatus.clear();
      this.withoutStatus.add(node.address);
    }
    const lists = await ask(node, 'listjobs.json', signal);
    return new Map(LISTS.flatMap((state) => idsIn(lists, state).map((id) => [id, { state }] as const)));
  }

  /** Only signals: a running spider closes in its own time. */
  async cancel(node: LauncherNode, job: LauncherJob, options: ScrapydOptions, signal: AbortSignal): Promise<void> {
    const body = new URLSearchParams({ project: projectOf(node, job, options), job: job.externalId });
    const answer = await callNode(node.address, { method: 'POST', path: 'cancel.json', body }, signal);
    requireOk(answer);
  }

  /** Pending and running jobs, whoever scheduled them. */
  async load(node: LauncherNode, _options: ScrapydOptions, signal: AbortSignal): Promise<number> {
    const { pending, running } = await ask(node, 'daemonstatus.json', signal);
    if (isCount(pending) && isCount(running)) return pending + running;
    throw new LauncherCallError('scrapyd did not say how many jobs it has');
  }

  /** Undefined where scrapyd is too old to say. */
  private async stateOf(node: LauncherNode, id: string, signal: AbortSignal): Promise<LauncherState | undefined> {
    const path = `status.json?${new URLSearchParams({ job: id }).toString()}`;
    const answer = await callNode(node.address, { method: 'GET', path }, signal);
    if (answer.status === 404) return undefined;
    const { currstate } = requireOk(answer);
    if (currstate === null) return 'unknown';
    const state = LISTS.find((each) => each === currstate);
    if (state) return state;
    throw new LauncherCallError(oddAnswer(answer));
  }
}

function formOf(node: LauncherNode, job: LauncherJob, options: ScrapydOptions): URLSearchParams {
  const { spider = options.spider, version, priority, settings = {}, args = {} } = job.payload as ScrapydPayload;
  if (spider === undefined) throw new LaunchRefusedError('neither the job nor the queue names a spider');
  const form = new URLSearchParams({ project: projectOf(node, job, options), spider, jobid: job.externalId });
  if (version !== undefined) form.set('_version', version);
  if (priority !== undefined) form.set('priority', String(priority));
  for (const [key, value] of Object.entries(settings)) form.append('setting', `${key}=${String(value)}`);
  for (const [key, value] of Object.entries(args)) form.set(key, String(value));
  return form;
}

/** What the job says goes before what the node's label says, and that before what the queue says. */
function projectOf({ labels }: LauncherNode, { payload }: LauncherJob, options: ScrapydOptions): string {
  const project = (payload as ScrapydPayload).project ?? labels['project'] ?? options.project;
  if (project !== undefined) return String(project);
  throw new LaunchRefusedError('neither the job, nor the label "project" of the node, nor the queue names a project');
}

async function ask(node: LauncherNode, path: string, signal: AbortSignal): Promise<Record<string, unknown>> {
  return requireOk(await callNode(node.address, { method: 'GET', path }, signal));
}

/** Errors come with HTTP 200 and a status of their own; a 401, and tracebacks in debug mode, as plain text. */
function requireOk(answer: NodeAnswer): Record<string, unknown> {
  requireWelcome(answer, (message) => new LauncherCallError(message));
  const said = jsonOf(answer);
  if (said?.['status'] === 'error') throw new LauncherCallError(`scrapyd said: ${quoted(said['message'], answer)}`);
  if (answer.status !== 200 || said?.['status'] !== 'ok') throw new LauncherCallError(oddAnswer(answer));
  return said;
}

function requireWelcome({ status }: NodeAnswer, errorOf: (message: string) => Error): void {
  if (status === 401 || status === 403) throw errorOf(`scrapyd refused the user and password (HTTP ${status})`);
}

function oddAnswer(answer: NodeAnswer): string {
  const { status, text } = answer;
  // The last line of a traceback says what went wrong.
  const last = text.includes('Traceback') ? text.trim().split('\n').at(-1) : undefined;
  return `scrapyd answered HTTP ${status} ${last === undefined ? 'with something unexpected' : `with an error: ${quoted(last, answer)}`}`;
}

function idsIn(lists: Record<string, unknown>, state: (typeof LISTS)[number]): string[] {
  const list = lists[state];
  if (!Array.isArray(list)) throw new LauncherCallError('scrapyd did not list its jobs');
  const ids = (list as unknown[]).map((entry) => (entry as { id?: unknown } | null)?.id);
  return ids.filter((id) => typeof id === 'string');
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

import { ValidationFailedError } from '../../src/errors/domain.errors.js';
import { LauncherProvider } from '../../src/dispatch/launcher/launcher.decorator.js';
import {
  LaunchRefusedError,
  type Launcher,
  LauncherCallError,
  type LauncherJob,
  type LauncherNode,
  type LauncherStatus,
} from '../../src/dispatch/launcher/launcher.js';
import { jobOf } from './external.ids.js';
import { waitUntil } from './wait.until.js';

export interface FleetJob {
  node: string;
  externalId: string;
  payload: Readonly<Record<string, unknown>>;
  state: LauncherStatus['state'];
}

/** A launcher of a host application, whose nodes are in this process and do as a test says. */
@LauncherProvider()
export class FleetLauncher implements Launcher<{ grade?: string }> {
  readonly name = 'fleet';
  /** Every start that a node was told, in its order. */
  readonly starts: FleetJob[] = [];
  /** Jobs of others on a node. */
  readonly foreign = new Map<string, number>();
  /** What a start on a node does instead. */
  readonly onStart = new Map<string, (job: FleetJob) => Promise<void>>();
  /** Nodes that give no answer. */
  readonly silent = new Set<string>();
  /** How often nodes were asked where their jobs are. */
  private asks = 0;
  /** The most jobs that were live at once. */
  most = 0;

  parseOptions(options: unknown): { grade?: string } {
    const unknown = Object.keys(options as object).find((field) => field !== 'grade');
    if (unknown === undefined) return options as { grade?: string };
    throw new ValidationFailedError(`no ${unknown}`, [
      { path: `launcher.${unknown}`, message: 'is not a known field' },
    ]);
  }

  checkPayload(payload: Readonly<Record<string, unknown>>) {
    return payload['bad'] === undefined ? undefined : { path: 'bad', message: 'must not be there' };
  }

  async start(node: LauncherNode, { externalId, payload }: LauncherJob): Promise<void> {
    this.requireAnswer(node);
    const job: FleetJob = { node: node.id, externalId, payload, state: 'running' };
    const instead = this.onStart.get(node.id);
    if (instead) return instead(job);
    this.accept(job);
  }

  accept(job: FleetJob): void {
    this.starts.push(job);
    this.most = Math.max(this.most, this.live.length);
  }

  async status(node: LauncherNode, jobs: readonly LauncherJob[]): Promise<ReadonlyMap<string, LauncherStatus>> {
    this.asks += 1;
    this.requireAnswer(node);
    return new Map(
      jobs.flatMap(({ externalId }) => {
        const job = this.starts.find((each) => each.externalId === externalId);
        return job && job.node === node.id ? [[externalId, { state: job.state }] as const] : [];
      }),
    );
  }

  async cancel(node: LauncherNode, { externalId }: LauncherJob): Promise<void> {
    this.requireAnswer(node);
    for (const job of this.starts) if (job.externalId === externalId) job.state = 'finished';
  }

  async load(node: LauncherNode): Promise<number> {
    this.requireAnswer(node);
    return (this.foreign.get(node.id) ?? 0) + this.live.filter((job) => job.node === node.id).length;
  }

  /** Resolves when nodes have been asked that much more often where their jobs are. */
  untilAsked(times: number): Promise<unknown> {
    const from = this.asks;
    return waitUntil(() => this.asks >= from + times, { what: 'nodes to be asked about their jobs' });
  }

  get live(): FleetJob[] {
    return this.starts.filter(({ state }) => state === 'running' || state === 'pending');
  }

  /** Ends a job, or the oldest that is live. */
  finish(job: FleetJob | undefined = this.live[0], state: FleetJob['state'] = 'finished'): void {
    if (job) job.state = state;
  }

  /** Numbers of the jobs within their requests, in the order in which they were started. */
  get order(): string[] {
    return this.starts.map(({ externalId }) => jobOf(externalId));
  }

  private requireAnswer({ id }: LauncherNode): void {
    if (this.silent.has(id)) throw new LauncherCallError('it gave no answer');
  }
}

export function refusing(message: string): () => Promise<void> {
  return () => Promise.reject(new LaunchRefusedError(message));
}

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from '@jest/globals';
import type { Redis } from 'ioredis';
import { LaunchRefusedError, LauncherCallError } from '../../src/dispatch/launcher/launcher.js';
import { type DispatchApp, giveQueue, jobs, startDispatch } from '../support/dispatch.app.js';
import { jobOf } from '../support/external.ids.js';
import { type FleetJob, FleetLauncher } from '../support/fleet.launcher.js';
import { queueProblems } from '../support/queue.invariants.js';
import { waitUntil } from '../support/wait.until.js';

export type Fault = 'job' | 'node' | 'call lost' | 'answer lost' | null;
export type Move =
  | { kind: 'submit'; count: number; priority: number }
  | { kind: 'repeat' | 'cancel job' | 'cancel request'; at: number }
  | { kind: 'pause' | 'resume' | 'restart' | 'pass' }
  | { kind: 'delete'; force: boolean }
  | { kind: 'limit'; limit: number }
  | { kind: 'fault'; node: string; fault: Fault }
  | { kind: 'end'; at: number; how: 'finished' | 'failed' | 'unknown' };

interface Submitted {
  id: string;
  requestId: string;
  count: number;
  priority: number;
  jobs: string[];
}

export const NODES = ['node-1', 'node-2'];
const CAPACITY = 3;
export const MOST = 5;
/** That a move lets pass. */
const PASS_MS = 150;

/** A queue, two applications that serve it, and nodes that do as they are told. */
export class DispatchTrial {
  private readonly fleet = new FleetLauncher();
  private readonly requests: Submitted[] = [];
  /** Starts that a job had when it was seen to have been cancelled. */
  private readonly cancelled = new Map<string, number>();
  private readonly problems: string[] = [];
  private limit = MOST;
  /** Jobs that may be live: the limit, or what ran when it was lowered. */
  private allowed = MOST;
  private turns = 0;

  private constructor(
    private readonly redis: Redis,
    private readonly url: string,
    private readonly apps: DispatchApp[],
  ) {}

  static async start(redis: Redis, url: string): Promise<DispatchTrial> {
    await redis.flushall();
    const trial = new DispatchTrial(redis, url, []);
    trial.clearFaults();
    for (let n = 0; n < 2; n++) trial.apps.push(await startDispatch(url, trial.fleet));
    await trial.giveQueue();
    return trial;
  }

  async stop(): Promise<void> {
    await Promise.all(this.apps.map((app) => app.close()));
  }

  async make(move: Move): Promise<void> {
    await this.take(move);
    const { starting, running } = await this.app.dispatch.get('crawls');
    this.allowed = Math.max(this.limit, Math.min(this.allowed, starting + running));
    await this.check();
  }

  /** Lets all run that may, and looks at what became of it. */
  async finish(): Promise<void> {
    this.clearFaults();
    await this.take({ kind: 'limit', limit: MOST });
    await this.app.dispatch.resume('crawls');
    const isIdle = async () => {
      for (const job of this.fleet.live) this.fleet.finish(job);
      const { waiting, starting, running } = await this.app.dispatch.get('crawls');
      return waiting + starting + running === 0 && (await this.app.pools.get('nodes')).inFlight === 0;
    };
    await waitUntil(isIdle, { what: 'all jobs to have ended and all nodes to be back', deadlineMs: 60_000 });
    await this.check();
    for (const request of this.requests) await this.checkEnd(request);
    expect(this.fleet.live).toEqual([]);
    // A node that forgot a job while it was asked about it is told it again.
    const kept = this.fleet.starts.filter(({ state }) => state !== 'unknown').map(({ externalId }) => externalId);
    expect(kept.length).toBe(new Set(kept).size);
  }

  private get app(): DispatchApp {
    return this.apps[this.turns++ % this.apps.length] as DispatchApp;
  }

  private async giveQueue(): Promise<void> {
    const loss = { afterMs: 1_000, retry: true };
    const retry = { attempts: 2, backoffMs: 100 };
    await giveQueue(this.app, { nodes: NODES, capacity: CAPACITY, limit: this.limit, loss, retry });
  }

  private async take(move: Move): Promise<void> {
    const { dispatch } = this.app;
    switch (move.kind) {
      case 'submit':
        return this.submit(move);
      case 'repeat':
        return this.repeat(this.pick(this.requests, move.at));
      case 'cancel job':
        return this.cancelJob(this.pick(this.allJobs(), move.at));
      case 'cancel request':
        return this.cancelRequest(this.pick(this.requests, move.at));
      case 'pause':
        expect(await dispatch.pause('crawls')).toMatchObject({ paused: true });
        return;
      case 'resume':
        expect(await dispatch.resume('crawls')).toMatchObject({ paused: false });
        return;
      case 'delete':
        return this.delete(move.force);
      case 'limit':
        return this.setLimit(move.limit);
      case 'fault':
        return this.setFault(move.node, move.fault);
      case 'end':
        this.fleet.finish(this.pick(this.fleet.live, move.at), move.how);
        return;
      case 'restart':
        await this.apps.shift()?.close();
        this.apps.push(await startDispatch(this.url, this.fleet));
        return;
      case 'pass':
        await sleep(PASS_MS);
    }
  }

  private async submit({ count, priority }: { count: number; priority: number }): Promise<void> {
    const requestId = `request-${this.turns}`;
    const receipt = await this.app.dispatch.submit('crawls', { requestId, priority, jobs: jobs(count) });
    expect(receipt.jobs).toHaveLength(count);
    this.requests.push({ ...receipt, requestId, count, priority });
  }

  private async repeat(request: Submitted | undefined): Promise<void> {
    if (!request) return;
    const { id, requestId, count, priority } = request;
    const again = await this.app.dispatch.submit('crawls', { requestId, priority, jobs: jobs(count) });
    expect(again).toMatchObject({ id, jobs: request.jobs });
    const other = this.app.dispatch.submit('crawls', { requestId, priority, jobs: jobs(count + 1) });
    await expect(other).rejects.toMatchObject({ code: 'REQUEST_ID_REUSED' });
  }

  private async cancelJob(id: string | undefined): Promise<void> {
    if (id === undefined) return;
    const { state } = await this.app.dispatch.cancelJob('crawls', id);
    expect(state).not.toBe('waiting');
    if (state === 'cancelled') this.cancelled.set(id, this.startsOf(id).length);
  }

  private async cancelRequest(request: Submitted | undefined): Promise<void> {
    if (!request) return;
    const { jobs } = await this.app.dispatch.cancelRequest('crawls', request.id);
    expect(jobs.waiting).toBe(0);
  }

  private async delete(force: boolean): Promise<void> {
    const gone = await this.app.dispatch.delete('crawls', { force }).then(
      () => true,
      (error: unknown) => {
        expect(error).toMatchObject({ code: 'QUEUE_BUSY' });
        return false;
      },
    );
    if (!gone) return;
    expect(await this.redis.keys('*dispatch:{crawls}*')).toEqual([]);
    this.requests.splice(0);
    await this.giveQueue();
  }

  private async setLimit(limit: number): Promise<void> {
    this.allowed = Math.max(this.allowed, limit);
    const { starting, running } = await this.app.dispatch.patch('crawls', { limit });
    this.limit = limit;
    this.allowed = Math.max(limit, Math.min(this.allowed, starting + running));
  }

  private clearFaults(): void {
    for (const node of NODES) this.setFault(node, null);
  }

  private setFault(node: string, fault: Fault): void {
    this.fleet.onStart.set(node, async (job) => {
      if (fault === 'job' || fault === 'node') throw new LaunchRefusedError('not now', { fault });
      if (fault !== 'call lost') this.accept(job);
      if (fault !== null) throw new LauncherCallError('no answer');
    });
  }

  private accept(job: FleetJob): void {
    this.fleet.accept(job);
    const { length } = this.fleet.live;
    if (length > this.allowed) this.problems.push(`${length} are live, of at most ${this.allowed}`);
    const here = this.fleet.live.filter(({ node }) => node === job.node).length;
    if (here > CAPACITY) this.problems.push(`${here} are live on ${job.node}`);
    const starts = this.startsOf(jobOf(job.externalId)).length;
    const most = this.cancelled.get(jobOf(job.externalId));
    if (most !== undefined && starts > most) this.problems.push(`${job.externalId} was started after it was cancelled`);
  }

  private async check(): Promise<void> {
    expect([...this.problems, ...(await queueProblems(this.redis, 'crawls'))]).toEqual([]);
  }

  private async checkEnd({ id, jobs }: Submitted): Promise<void> {
    const { dispatch } = this.app;
    expect(await dispatch.getRequest('crawls', id)).toMatchObject({ endedAt: expect.any(String) });
    for (const job of jobs) {
      const { state, attempts } = await dispatch.getJob('crawls', job);
      const starts = this.startsOf(job);
      expect(attempts).toBeGreaterThanOrEqual(new Set(starts.map(({ externalId }) => externalId)).size);
      expect(['finished', 'failed', 'lost', 'cancelled']).toContain(state);
      if (state === 'finished') expect(starts.at(-1)).toMatchObject({ state: 'finished' });
    }
  }

  private startsOf(job: string): FleetJob[] {
    return this.fleet.starts.filter(({ externalId }) => jobOf(externalId) === job);
  }

  private allJobs(): string[] {
    return this.requests.flatMap((request) => request.jobs);
  }

  private pick<T>(all: readonly T[], at: number): T | undefined {
    return all[Math.floor(at * all.length)];
  }
}

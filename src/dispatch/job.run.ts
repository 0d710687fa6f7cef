import { setTimeout as sleep } from 'node:timers/promises';
import { EvenhandError, type ErrorCode } from '../errors/evenhand.error.js';
import type { SelectionService } from '../selection/selection.service.js';
import type { DispatchEventName, DispatchEvents } from './dispatch.events.js';
import { type Adopted, type JobStep, type JobStore, newToken } from './job.store.js';
import { type AttemptRef, type JobRecord, jobIdOf } from './job.types.js';
import type { LauncherCalls, LauncherTarget } from './launcher/launcher.calls.js';
import { type LauncherJob, LauncherCallError, type LauncherNode, type LauncherStatus } from './launcher/launcher.js';
import { nodeOf } from './node.finder.js';
import type { NodePolls } from './node.polls.js';
import type { NodeRests } from './node.rests.js';
import type { QueueDirectory, StoredQueue } from './queue.directory.js';
import type { LauncherSettings } from './queue.settings.js';
import { unlessAborted } from './unless.aborted.js';

const RETRY_MS = 500;
/** Redis is away or refuses for now; what is asked of it is asked again. */
const PASSING: readonly ErrorCode[] = ['REDIS_UNAVAILABLE', 'REDIS_REFUSED'];

/** What the run of a job works with. */
export interface RunTools {
  store: JobStore;
  queues: QueueDirectory;
  calls: LauncherCalls;
  polls: NodePolls;
  rests: NodeRests;
  selection: SelectionService;
  events: DispatchEvents;
  /** See `DispatchOptions`. */
  takeoverMs: number;
  /** Starts what there is room for now, without waiting for it. */
  fill: (queue: string) => void;
}

/** Somebody else acts on the job now, or its queue is gone: this process leaves it alone. */
export class RunSupersededError extends Error {}

/** This process does not have the launcher that the job is started by. */
export class LauncherMissingError extends Error {
  constructor(launcher: string) {
    super(`This process has no launcher "${launcher}".`);
  }
}

/** One attempt of a job in the hands of this process. */
export class JobRun {
  record: JobRecord;
  /** It is to be cancelled. */
  isUnwanted: boolean;
  /** It has ended, or somebody else acts on it. */
  isGone = false;
  /** Why asking its node to end it failed last. */
  cancelFault: string | undefined;
  private readonly payload: Adopted['payload'];

  private constructor(
    readonly tools: RunTools,
    readonly ref: AttemptRef,
    readonly owner: string,
    adopted: Adopted,
    private readonly signal: AbortSignal,
  ) {
    ({ record: this.record, payload: this.payload, isUnwanted: this.isUnwanted } = adopted);
  }

  /** Takes the attempt over from whoever acted on it before; undefined where there is no such attempt any more. */
  static async adopt(tools: RunTools, ref: AttemptRef, signal: AbortSignal): Promise<JobRun | undefined> {
    const owner = newToken();
    const adopted = await patiently(() => tools.store.adopt(ref, owner), signal);
    return adopted && new JobRun(tools, ref, owner, adopted, signal);
  }

  get node(): LauncherNode {
    return nodeOf(this.record);
  }

  /** Stays as it was when the node was found, whatever becomes of the queue's. */
  get launcher(): LauncherSettings {
    return JSON.parse(this.record.launcher ?? '{}') as LauncherSettings;
  }

  /** How its node is called. */
  async target(): Promise<LauncherTarget> {
    const { settings } = await this.queue();
    return { launcher: this.launcher, callMs: settings.callMs };
  }

  get job(): LauncherJob {
    return { externalId: this.record.externalId ?? '', payload: this.payload };
  }

  /** The queue as it is, or was a second ago. @throws RunSupersededError where it is gone */
  async queue(): Promise<StoredQueue> {
    const queue = await this.patiently(() => this.tools.queues.recent(this.ref.queue));
    if (!queue) throw new RunSupersededError();
    return queue;
  }

  /**
   * Takes the job one step on; what follows from the step is done when this resolves, and not before.
   *
   * @throws RunSupersededError where somebody else acts on it
   */
  async step(step: Omit<JobStep, 'before'>): Promise<JobRecord> {
    const { settings } = await this.queue();
    const take = this.tools.store.stepper(
      this.ref,
      this.owner,
      { ...step, before: this.record.state },
      settings.keepMs,
    );
    const record = await this.patiently(take);
    if (!record) throw new RunSupersededError();
    this.record = record;
    return record;
  }

  /** Where the node says that the job is, when it is asked next. @throws RunSupersededError where somebody else acts on it */
  async poll(): Promise<LauncherStatus | LauncherCallError> {
    const queue = await this.queue();
    const found = await unlessAborted(this.tools.polls.next(queue, this.launcher, this.node, this.job), this.signal);
    if (this.isGone) throw new RunSupersededError();
    return found;
  }

  /** Gives the node back. Never rejects for a lease that is gone: it has been given back then. */
  async settle(outcome: 'success' | 'failure' | 'unused'): Promise<void> {
    const { selection } = this.tools;
    const { pool, lease } = this.record;
    if (pool === undefined || lease === undefined) return;
    try {
      await this.patiently<unknown>(() =>
        outcome === 'unused' ? selection.abandon(pool, lease) : selection.complete(pool, lease, { outcome }),
      );
    } catch (error) {
      if (!(error instanceof EvenhandError)) throw error;
    }
  }

  tell(name: DispatchEventName): void {
    const { queue, request, number, attempt } = this.ref;
    const { state, node = null, externalId = null, reason = null } = this.record;
    const job = jobIdOf(request, number);
    this.tools.events.emit(name, {
      queue,
      request,
      job,
      state,
      attempt,
      node,
      externalId,
      reason,
      payload: this.payload,
    });
  }

  patiently<T>(call: () => Promise<T>): Promise<T> {
    return patiently(call, this.signal);
  }
}

/** Repeats a call while Redis is away. */
async function patiently<T>(call: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    signal.throwIfAborted();
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof EvenhandError) || !PASSING.includes(error.code)) throw error;
      await sleep(RETRY_MS, undefined, { signal });
    }
  }
}

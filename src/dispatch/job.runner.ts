import { Inject, Injectable } from '@nestjs/common';
import { SelectionService } from '../selection/selection.service.js';
import { DispatchEvents } from './dispatch.events.js';
import { DispatchLine } from './dispatch.line.js';
import { DISPATCH_OPTIONS, type DispatchOptions } from './dispatch.options.js';
import { JobBeats } from './job.beats.js';
import { JobRun, LauncherMissingError, RunSupersededError, type RunTools } from './job.run.js';
import { startJob } from './job.start.js';
import { JobStore } from './job.store.js';
import { type AttemptRef, isActive } from './job.types.js';
import { watchJob } from './job.watch.js';
import { LauncherCalls } from './launcher/launcher.calls.js';
import { NodePolls } from './node.polls.js';
import { NodeRests } from './node.rests.js';
import { QueueDirectory } from './queue.directory.js';

/** Takes attempts of jobs from wherever they are to their end. */
@Injectable()
export class JobRunner {
  private readonly tools: RunTools;

  constructor(
    store: JobStore,
    queues: QueueDirectory,
    private readonly calls: LauncherCalls,
    polls: NodePolls,
    rests: NodeRests,
    private readonly beats: JobBeats,
    selection: SelectionService,
    events: DispatchEvents,
    line: DispatchLine,
    @Inject(DISPATCH_OPTIONS) { takeoverMs }: DispatchOptions,
  ) {
    const fill = (queue: string) => line.fill(queue);
    this.tools = { store, queues, calls, polls, rests, selection, events, takeoverMs, fill };
  }

  /**
   * Resolves when the attempt has ended, or somebody else acts on it.
   *
   * @param signal hands the job over: rejects, and changes nothing of it
   * @throws LauncherMissingError where another process must take the attempt on
   */
  async run(ref: AttemptRef, signal: AbortSignal): Promise<void> {
    try {
      const run = await JobRun.adopt(this.tools, ref, signal);
      if (run) await this.follow(run);
    } catch (error) {
      if (!(error instanceof RunSupersededError)) throw error;
    }
  }

  private async follow(run: JobRun): Promise<void> {
    // Whoever ended it may have died before it gave the node back.
    if (!isActive(run.record)) return run.settle(run.record.state === 'finished' ? 'success' : 'unused');
    if (!this.calls.has(run)) throw new LauncherMissingError(run.launcher.type);
    const stop = await this.beat(run);
    try {
      if (run.record.state === 'starting') await startJob(run);
      if (run.record.state === 'running') await watchJob(run);
    } finally {
      stop();
    }
  }

  private async beat(run: JobRun): Promise<() => void> {
    const { leaseTtlMs } = (await run.queue()).settings;
    return this.beats.keep({
      ref: run.ref,
      owner: run.owner,
      pool: run.record.pool ?? '',
      lease: run.record.lease ?? '',
      leaseTtlMs,
      onSeen: (seen) => {
        if (seen === 'UNWANTED') run.isUnwanted = true;
        if (seen === 'GONE') run.isGone = true;
      },
    });
  }
}

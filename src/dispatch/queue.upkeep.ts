import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { NOTHING_DUE, type UpkeepStep } from '../pool/upkeep.step.js';
import { DueTicker } from '../selection/leases/due.ticker.js';
import { DISPATCH_OPTIONS, type DispatchOptions } from './dispatch.options.js';
import { DispatchLine } from './dispatch.line.js';
import { JobStore } from './job.store.js';
import { RunQueue } from './run.queue.js';

/** How often a queue with jobs is looked at, whatever happens in it. */
const LOOK_MS = 1_000;

/**
 * Looks at queues that have jobs: whether something can be started, which nobody may have said because a process died or a node came
 * back; and whether a job is watched by nobody, because a process died before it gave the job to one.
 */
@Injectable()
export class QueueUpkeep implements OnModuleInit {
  constructor(
    @Inject(DISPATCH_OPTIONS) private readonly options: DispatchOptions,
    private readonly ticker: DueTicker,
    private readonly store: JobStore,
    private readonly runs: RunQueue,
    private readonly line: DispatchLine,
  ) {}

  onModuleInit(): void {
    this.ticker.use((queue) => Promise.resolve(this.stepOf(queue)));
  }

  private stepOf(queue: string): UpkeepStep {
    return async () => {
      const { nowMs, live, refs } = await this.store.unwatched(queue, this.options.takeoverMs);
      if (live === 0) return NOTHING_DUE;
      for (const ref of refs) await this.runs.add(ref);
      this.line.fill(queue);
      return { more: false, nextMs: nowMs + LOOK_MS };
    };
  }
}

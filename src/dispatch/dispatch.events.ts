import { EventEmitter } from 'node:events';
import { Injectable, Logger } from '@nestjs/common';
import type { JobState } from './job.types.js';

/** What happens to a job. `lost` comes also before it is started again; `failed`, `finished` and `cancelled` are ends. */
export type DispatchEventName = 'started' | 'finished' | 'failed' | 'cancelled' | 'lost';
export const DISPATCH_EVENTS: readonly DispatchEventName[] = ['started', 'finished', 'failed', 'cancelled', 'lost'];

export interface DispatchEvent {
  queue: string;
  request: string;
  job: string;
  /** Where the job is now: a lost one may be `waiting` again. */
  state: JobState;
  attempt: number;
  node: string | null;
  externalId: string | null;
  /** Why it failed or was lost. */
  reason: string | null;
  payload: Readonly<Record<string, unknown>>;
}

export type DispatchListener = (event: DispatchEvent) => unknown;

/**
 * Tells listeners of this process what it did to jobs, after it has been written to Redis: each event in one process, and at most once,
 * since that process may die before it tells. A listener that throws or rejects is logged and stops nothing.
 */
@Injectable()
export class DispatchEvents {
  private readonly logger = new Logger('Dispatch');
  private readonly emitter = new EventEmitter();

  on(name: DispatchEventName, listener: DispatchListener): void {
    this.emitter.on(name, listener);
  }

  off(name: DispatchEventName, listener: DispatchListener): void {
    this.emitter.off(name, listener);
  }

  emit(name: DispatchEventName, event: DispatchEvent): void {
    for (const listener of this.emitter.listeners(name) as DispatchListener[]) void this.tell(listener, name, event);
  }

  private async tell(listener: DispatchListener, name: DispatchEventName, event: DispatchEvent): Promise<void> {
    try {
      await listener(event);
    } catch (error) {
      this.logger.error(`A listener for "${name}" failed on job ${event.job}.`, (error as Error | undefined)?.stack);
    }
  }
}

import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { LauncherCalls } from './launcher/launcher.calls.js';
import type { LauncherSettings } from './queue.settings.js';
import { LauncherCallError, type LauncherJob, type LauncherNode, type LauncherStatus } from './launcher/launcher.js';
import { QueueDirectory, type StoredQueue } from './queue.directory.js';

interface Asked {
  job: LauncherJob;
  answer: (status: LauncherStatus | LauncherCallError) => void;
}

interface Poll {
  launcher: LauncherSettings;
  node: LauncherNode;
  asked: Asked[];
  timer: NodeJS.Timeout;
}

const UNKNOWN: LauncherStatus = { state: 'unknown' };

/** Asks each node once for all of its jobs that this process watches. */
@Injectable()
export class NodePolls implements OnApplicationShutdown {
  private readonly polls = new Map<string, Poll>();

  constructor(
    private readonly calls: LauncherCalls,
    private readonly queues: QueueDirectory,
  ) {}

  /** Where the job is when the node is asked next, which is after `pollMs` at the latest; or that the node did not say. */
  next(
    queue: StoredQueue,
    launcher: LauncherSettings,
    node: LauncherNode,
    job: LauncherJob,
  ): Promise<LauncherStatus | LauncherCallError> {
    return new Promise((answer) => {
      this.pollOf(queue, launcher, node).asked.push({ job, answer });
    });
  }

  onApplicationShutdown(): void {
    for (const { timer } of this.polls.values()) clearTimeout(timer);
    this.polls.clear();
  }

  private pollOf(queue: StoredQueue, launcher: LauncherSettings, node: LauncherNode): Poll {
    const key = JSON.stringify([queue.name, node.id, node.address, launcher]);
    const known = this.polls.get(key);
    if (known) return known;
    const ask = () => {
      this.polls.delete(key);
      void this.ask(queue.name, poll);
    };
    const poll: Poll = { launcher, node, asked: [], timer: setTimeout(ask, queue.settings.pollMs).unref() };
    this.polls.set(key, poll);
    return poll;
  }

  private async ask(name: string, { launcher, node, asked }: Poll): Promise<void> {
    try {
      const queue = await this.queues.recent(name);
      if (!queue) throw new LauncherCallError('the queue is gone');
      const jobs = asked.map(({ job }) => job);
      const found = await this.calls.status({ ...queue.settings, launcher }, node, jobs);
      for (const { job, answer } of asked) answer(found.get(job.externalId) ?? UNKNOWN);
    } catch (error) {
      const known =
        error instanceof LauncherCallError ? error : new LauncherCallError('asking failed', { cause: error });
      for (const { answer } of asked) answer(known);
    }
  }
}

import { setMaxListeners } from 'node:events';
import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { EvenhandError } from '../errors/evenhand.error.js';
import { JobStore, newToken } from './job.store.js';
import { LauncherCalls } from './launcher/launcher.calls.js';
import { NodeFinder } from './node.finder.js';
import { QueueDirectory, type StoredQueue } from './queue.directory.js';
import { RunQueue } from './run.queue.js';
import { type Turn, TurnKeeper } from './turn.keeper.js';

/** For how long the turn is kept beyond what a step may take: a process that dies keeps it as long. */
const MARGIN_MS = 5_000;

/** Starts the jobs of a queue one after another, in their order, while there is room: below the queue's limit, and on a node. */
@Injectable()
export class DispatchLine implements BeforeApplicationShutdown {
  private readonly logger = new Logger('Dispatch');
  private readonly token = newToken();
  private readonly closing = new AbortController();
  /** Queue that is being filled -> whether to look once more. */
  private readonly filling = new Map<string, { again: boolean; done: Promise<void> }>();

  constructor(
    private readonly queues: QueueDirectory,
    private readonly turns: TurnKeeper,
    private readonly finder: NodeFinder,
    private readonly calls: LauncherCalls,
    private readonly store: JobStore,
    private readonly runs: RunQueue,
  ) {
    // Every queue that waits for a node listens for it.
    setMaxListeners(0, this.closing.signal);
  }

  /** Starts what there is room for, without being waited for. What fails now is tried again at the next look. */
  fill(name: string): void {
    const under = this.filling.get(name);
    if (under) under.again = true;
    if (under || this.isClosing()) return;
    const state = { again: true, done: Promise.resolve() };
    this.filling.set(name, state);
    state.done = this.work(name, state).finally(() => this.filling.delete(name));
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.closing.abort();
    await Promise.all([...this.filling.values()].map(({ done }) => done));
  }

  private async work(name: string, state: { again: boolean }): Promise<void> {
    while (state.again && !this.isClosing()) {
      state.again = false;
      try {
        if (await this.startNext(name)) state.again = true;
      } catch (error) {
        if (!(error instanceof EvenhandError || this.isClosing())) this.logger.error(error);
      }
    }
  }

  private isClosing(): boolean {
    return this.closing.signal.aborted;
  }

  /** @returns whether to go on at once */
  private async startNext(name: string): Promise<boolean> {
    const queue = await this.queues.find(name);
    if (!queue) return false;
    const holdMs = queue.settings.callMs + MARGIN_MS;
    const turn = await this.turns.take(name, this.token, holdMs);
    if (turn.word !== 'GO') return false;
    try {
      return await this.place(queue, turn, holdMs);
    } catch (error) {
      const why = error instanceof EvenhandError ? error.code : 'INTERNAL';
      await this.turns.giveUp(name, this.token, why).catch(() => undefined);
      throw error;
    }
  }

  private async place(queue: StoredQueue, turn: Extract<Turn, { word: 'GO' }>, holdMs: number): Promise<boolean> {
    const { token } = this;
    const { callMs, keepMs } = queue.settings;
    // Other processes may have it.
    if (!this.calls.has(queue.settings)) {
      await this.turns.giveUp(queue.name, token, 'LAUNCHER_UNKNOWN');
      return false;
    }
    const keepTurn = async () => (await this.turns.take(queue.name, token, holdMs)).word === 'GO';
    const found = await this.finder.find(queue, keepTurn, this.closing.signal);
    if ('why' in found) {
      await this.turns.giveUp(queue.name, token, found.why);
      return false;
    }
    const { request, number } = turn;
    const startMs = callMs + MARGIN_MS;
    const claimed = await this.store.claim(queue.name, { token, request, number, startMs, keepMs }, found);
    if (typeof claimed === 'object') {
      await this.runs.add(claimed);
      return true;
    }
    await this.finder.giveBack(found);
    return true;
  }
}

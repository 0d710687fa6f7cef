import type { JobRun } from './job.run.js';
import { end, loseJob } from './job.start.js';
import { LauncherCallError, type LauncherStatus } from './launcher/launcher.js';

/** Since when something has been so, in ms; undefined while it is not. */
interface Since {
  unreachableMs: number | undefined;
  unknownMs: number | undefined;
}

/** Follows a running job until it has left its node, and ends it. */
export async function watchJob(run: JobRun): Promise<void> {
  const since: Since = { unreachableMs: undefined, unknownMs: undefined };
  for (;;) {
    const found = await run.poll();
    const { loss } = (await run.queue()).settings;
    const nowMs = performance.now();
    if (found instanceof LauncherCallError) {
      since.unreachableMs ??= nowMs;
      if (nowMs - since.unreachableMs < loss.unreachableMs) continue;
      return loseJob(run, `no answer from the node: ${found.message}`);
    }
    since.unreachableMs = undefined;
    if (await isOver(run, found)) return;
    since.unknownMs = found.state === 'unknown' ? (since.unknownMs ?? nowMs) : undefined;
    if (since.unknownMs === undefined || nowMs - since.unknownMs < loss.afterMs) continue;
    return loseJob(run, `${run.node.id} does not know the job any more`);
  }
}

async function isOver(run: JobRun, { state, detail }: LauncherStatus): Promise<boolean> {
  const { id } = run.node;
  switch (state) {
    case 'finished':
      await end(run, run.isUnwanted ? 'cancelled' : 'finished', `left ${id}`, 'success');
      return true;
    case 'failed':
      await end(run, run.isUnwanted ? 'cancelled' : 'failed', `failed on ${id}`, 'success', detail ?? 'the job failed');
      return true;
    case 'unknown':
      // One that had not begun is gone at once.
      if (!run.isUnwanted || run.record.isCancelTold !== true) return false;
      await end(run, 'cancelled', `left ${id}`, 'unused');
      return true;
    case 'pending':
    case 'running':
      if (run.isUnwanted && run.record.isCancelTold !== true) await cancel(run);
      return false;
  }
}

/**
 * Only asks for it: the job has ended when the node says so. Asked once, since a spider of Scrapy that is told twice does not end in
 * order any more; again at the next look where the node gave no answer. The log says once why that fails.
 */
async function cancel(run: JobRun): Promise<void> {
  const target = await run.target();
  try {
    await run.tools.calls.cancel(target, run.node, run.job);
  } catch (error) {
    if (!(error instanceof LauncherCallError)) throw error;
    if (error.message === run.cancelFault) return;
    run.cancelFault = error.message;
    await run.step({ state: 'running', line: `${run.node.id} could not be asked to end it: ${error.message}` });
    return;
  }
  await run.step({ state: 'running', changes: { isCancelTold: true }, line: `asked ${run.node.id} to end it` });
}

import { LaunchRefusedError, LauncherCallError } from './launcher/launcher.js';
import type { JobRun } from './job.run.js';

/**
 * A call that got no answer may still be in the node's hands when the node is asked; for so long it may surface. Two answers that are this
 * far apart and do not know the job count as one that it was not started.
 */
const SURE_AFTER_MS = 2_000;
const LONGEST_BACKOFF_MS = 3_600_000;

/**
 * Takes a job from `starting` on: it runs, waits again or has ended when this resolves. That a node may have been told is written
 * before it is told; whoever finds that written asks the node before it tells it again, since a node may start one job twice.
 */
export async function startJob(run: JobRun): Promise<void> {
  if (run.record.isPosted !== true) return tell(run);
  // Whoever was starting it has died on the way.
  if (await isKnown(run, 'its start was interrupted')) return;
  await tell(run);
}

async function tell(run: JobRun): Promise<void> {
  if (run.isUnwanted) return end(run, 'cancelled', 'cancelled before it was started', 'unused');
  const beganMs = performance.now();
  await run.step({ state: 'starting', changes: { isPosted: true } });
  const target = await run.target();
  // This process was stopped for so long that another may have told the node meanwhile.
  if (performance.now() - beganMs > run.tools.takeoverMs / 2) return startJob(run);
  try {
    await run.tools.calls.start(target, run.node, run.job);
  } catch (error) {
    if (error instanceof LaunchRefusedError) return refused(run, error);
    if (!(error instanceof LauncherCallError)) throw error;
    await rest(run, error.message);
    if (!(await isKnown(run, error.message))) await fail(run, error.message, 'failure');
    return;
  }
  await started(run);
}

/**
 * Asks the node until it says whether it knows the job; the line goes on meanwhile.
 *
 * @returns true when the job has gone on to another state
 */
async function isKnown(run: JobRun, why: string): Promise<boolean> {
  await run.step({ state: 'starting', line: `${why}; asking ${run.node.id} whether it has the job`, isAnswered: true });
  run.tools.fill(run.ref.queue);
  const beganMs = performance.now();
  let unknownSinceMs: number | undefined;
  for (;;) {
    const found = await run.poll();
    const nowMs = performance.now();
    if (found instanceof LauncherCallError) {
      unknownSinceMs = undefined;
      const { loss } = (await run.queue()).settings;
      if (nowMs - beganMs < loss.unreachableMs) continue;
      await loseJob(run, `no answer from the node: ${found.message}`);
      return true;
    }
    if (found.state !== 'unknown') {
      await started(run);
      return true;
    }
    unknownSinceMs ??= nowMs;
    if (nowMs - unknownSinceMs >= SURE_AFTER_MS) return false;
  }
}

async function started(run: JobRun): Promise<void> {
  const { id } = run.node;
  await run.step({ state: 'running', line: `started on ${id} as ${run.job.externalId}`, isAnswered: true });
  run.tell('started');
  run.tools.fill(run.ref.queue);
  const queue = await run.queue();
  await run.patiently(() => run.tools.rests.clear(queue, id));
}

async function refused(run: JobRun, { message, fault }: LaunchRefusedError): Promise<void> {
  if (fault === 'node') await rest(run, message);
  await fail(run, message, fault === 'node' ? 'failure' : 'unused');
}

/** Nothing is started on the node for a while, so that it does not draw one job after another. */
async function rest(run: JobRun, reason: string): Promise<void> {
  const queue = await run.queue();
  await run.patiently(() => run.tools.rests.failed(queue, run.node.id, reason));
}

/** A start that failed is tried again after a while, a limited number of times. */
async function fail(run: JobRun, reason: string, outcome: 'failure' | 'unused'): Promise<void> {
  const queue = await run.queue();
  const line = `not started on ${run.node.id}: ${reason}`;
  const again = againMs(run, queue.settings.retry);
  if (again === undefined) return end(run, run.isUnwanted ? 'cancelled' : 'failed', line, outcome, reason);
  await waitAgain(run, line, reason, again);
  await run.settle(outcome);
  run.tools.fill(run.ref.queue);
}

/** The node does not know it any more, or has not answered for long: it is started again, or not, as the queue says. */
export async function loseJob(run: JobRun, reason: string): Promise<void> {
  const { retry, loss } = (await run.queue()).settings;
  const again = loss.retry && !run.isUnwanted ? againMs(run, retry) : undefined;
  if (again === undefined) return end(run, run.isUnwanted ? 'cancelled' : 'lost', `lost: ${reason}`, 'failure', reason);
  const isAgain = await waitAgain(run, `lost: ${reason}`, reason, again);
  await run.settle('failure');
  if (isAgain) run.tell('lost');
  run.tools.fill(run.ref.queue);
}

/** @returns whether it waits: one that is not wanted any more has ended as cancelled */
async function waitAgain(run: JobRun, line: string, reason: string, againMs: number): Promise<boolean> {
  const { state } = await run.step({ state: 'waiting', changes: { reason }, line, isAnswered: true, againMs });
  if (state === 'cancelled') run.tell('cancelled');
  return state === 'waiting';
}

/** The end of a job: it is written, its node is given back, those who listen are told, and the next one may start. */
export async function end(
  run: JobRun,
  state: 'finished' | 'failed' | 'cancelled' | 'lost',
  line: string,
  outcome: 'success' | 'failure' | 'unused',
  reason: string | null = null,
): Promise<void> {
  await run.step({ state, changes: { reason }, line, isAnswered: true });
  await run.settle(outcome);
  run.tell(state);
  run.tools.fill(run.ref.queue);
}

/** When a job may be started again, in ms from now; undefined where it has no attempt left. */
function againMs(
  { ref }: JobRun,
  { attempts, backoffMs }: { attempts: number; backoffMs: number },
): number | undefined {
  if (ref.attempt >= attempts) return undefined;
  return Math.min(backoffMs * 2 ** (ref.attempt - 1), LONGEST_BACKOFF_MS);
}

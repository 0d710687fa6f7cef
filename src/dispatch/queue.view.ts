import type { JobCounts } from './job.types.js';
import type { NodeRest } from './node.rests.js';
import type { StoredQueue } from './queue.directory.js';
import type { QueueSettings } from './queue.settings.js';
import { countsOf } from './request.catalogue.js';

/** A node of a queue that has jobs, or gets none for a while. */
export interface QueueNodeView {
  id: string;
  starting: number;
  running: number;
  /** Until when it gets no job, and why; null where it may get one. */
  restsUntil: string | null;
  reason: string | null;
}

/** A queue as it is now; `finished`, `failed`, `cancelled` and `lost` count all jobs since it was made. */
export interface QueueView extends QueueSettings, JobCounts {
  name: string;
  paused: boolean;
  /** Why nothing was started when that was last tried, such as `AT_CAPACITY`; null where something was, or nothing is to be. */
  blocked: string | null;
  nodes: QueueNodeView[];
}

/** @param counts how many jobs in which state on which node, as Redis has it */
export function queueView(
  { name, settings, fields }: StoredQueue,
  counts: Readonly<Record<string, string>>,
  rests: ReadonlyMap<string, NodeRest>,
): QueueView {
  const paused = fields['paused'] === 'true';
  const jobs = countsOf(fields);
  const isHeld = paused || jobs.waiting === 0 || jobs.starting + jobs.running >= settings.limit;
  return {
    name,
    ...settings,
    paused,
    ...jobs,
    blocked: isHeld ? null : (fields['blocked'] ?? null),
    nodes: nodeViews(counts, rests),
  };
}

function nodeViews(counts: Readonly<Record<string, string>>, rests: ReadonlyMap<string, NodeRest>): QueueNodeView[] {
  const withJobs = Object.keys(counts).map((field) => field.slice(field.indexOf(' ') + 1));
  return [...new Set([...withJobs, ...rests.keys()])].sort().map((id) => {
    const rest = rests.get(id);
    return {
      id,
      starting: Number(counts[`starting ${id}`] ?? 0),
      running: Number(counts[`running ${id}`] ?? 0),
      restsUntil: rest ? new Date(rest.untilMs).toISOString() : null,
      reason: rest?.reason ?? null,
    };
  });
}

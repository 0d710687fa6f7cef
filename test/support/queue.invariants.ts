import type { Redis } from 'ioredis';
import { JOB_STATES, type JobRecord, type JobState } from '../../src/dispatch/job.types.js';
import { QueueKeyNames } from '../../src/dispatch/queue.keys.js';

type Counts = Record<JobState, number>;

/** All that a queue and its requests hold, of one moment. */
const SNAPSHOT = `
local queue, nodes, active, retries, line, cancels, requests = unpack(KEYS)
local reply = { redis.call('HGETALL', queue), redis.call('HGETALL', nodes), redis.call('ZRANGE', active, 0, -1),
  redis.call('ZRANGE', retries, 0, -1), redis.call('ZRANGE', line, 0, -1), redis.call('SMEMBERS', cancels) }
for _, id in ipairs(redis.call('ZRANGE', requests, 0, -1)) do
  reply[#reply + 1] = { redis.call('HGETALL', ARGV[1] .. id), redis.call('HGETALL', ARGV[2] .. id) }
end
return reply`;

type Snapshot = [string[], string[], string[], string[], string[], string[], ...[string[], string[]][]];

/** What does not fit together in a queue; nothing, if all is well. None of its requests may have been forgotten. */
export async function queueProblems(redis: Redis, name: string): Promise<string[]> {
  const names = new QueueKeyNames('evenhand');
  const { queue, nodes, active, retries, line, cancels, requests } = names.queue(name);
  const keys = [queue, nodes, active, retries, line, cancels, requests];
  const { request, jobs } = names.request(name, '');
  const found = (await redis.eval(SNAPSHOT, keys.length, ...keys, request, jobs)) as Snapshot;
  const [counts, atNodes, activeIds, retryIds, inLine, cancelIds, ...each] = found;
  const known = each.map(([fields, stored]) => new StoredRequest(fieldsOf(fields), recordsOf(stored)));
  const problems: string[] = [];
  const check = (what: string, is: unknown, should: unknown) => {
    const [left, right] = [JSON.stringify(is), JSON.stringify(should)];
    if (left !== right) problems.push(`${what}: ${left}, not ${right}`);
  };
  for (const each of known) check(`jobs of ${each.id}`, each.counts, each.recounted());
  check(
    'ended',
    idsOf(known, ({ fields }) => fields['endedAt'] !== undefined),
    idsOf(known, isOver),
  );
  check(
    'missing in line',
    idsOf(known, hasUnstarted).filter((id) => !inLine.includes(id)),
    [],
  );
  check(
    'in line for nothing',
    inLine.filter((id) => !idsOf(known, waits).includes(id)),
    [],
  );
  check('jobs of the queue', countsOf(fieldsOf(counts)), sumOf(known));
  const started = known.flatMap((request) => request.activeOnes());
  check('active', [...activeIds].sort(), started.map(({ id }) => id).sort());
  check('at nodes', fieldsOf(atNodes), tally(started.map(({ at }) => at)));
  check('to be started again', [...retryIds].sort(), known.flatMap((request) => request.waitingAgain()).sort());
  check(
    'to be cancelled',
    cancelIds.filter((id) => !activeIds.includes(id)),
    [],
  );
  return problems;
}

class StoredRequest {
  constructor(
    readonly fields: Record<string, string>,
    private readonly records: ReadonlyMap<string, JobRecord>,
  ) {}

  get id(): string {
    return this.fields['id'] ?? '';
  }

  get counts(): Counts {
    return countsOf(this.fields);
  }

  get isCancelled(): boolean {
    return this.fields['cancelledAt'] !== undefined;
  }

  /** Jobs without a record wait, or were cancelled with their request; so were those that waited then to be started again. */
  recounted(): Counts {
    const counts = countsOf({});
    const waiting = this.isCancelled ? 'cancelled' : 'waiting';
    for (const { state } of this.records.values()) counts[state === 'waiting' ? waiting : state] += 1;
    counts[waiting] += Number(this.fields['total']) - this.records.size;
    return counts;
  }

  activeOnes(): { id: string; at: string }[] {
    const active = [...this.records].filter(([, { state }]) => state === 'starting' || state === 'running');
    return active.map(([number, { state, node = '' }]) => ({ id: `${this.id}-${number}`, at: `${state} ${node}` }));
  }

  waitingAgain(): string[] {
    if (this.isCancelled) return [];
    const waiting = [...this.records].filter(([, { state }]) => state === 'waiting');
    return waiting.map(([number]) => `${this.id}-${number}`);
  }
}

function isOver({ counts }: StoredRequest): boolean {
  return counts.waiting + counts.starting + counts.running === 0;
}

function waits({ counts }: StoredRequest): boolean {
  return counts.waiting > 0;
}

/** Whether a job waits for its first start. */
function hasUnstarted(request: StoredRequest): boolean {
  return request.counts.waiting > request.waitingAgain().length;
}

function idsOf(requests: readonly StoredRequest[], isOne: (request: StoredRequest) => boolean): string[] {
  return requests
    .filter(isOne)
    .map(({ id }) => id)
    .sort();
}

function sumOf(requests: readonly StoredRequest[]): Counts {
  const sum = countsOf({});
  for (const { counts } of requests) for (const state of JOB_STATES) sum[state] += counts[state];
  return sum;
}

/** How often each is there, in their order. */
function tally(texts: readonly string[]): Record<string, string> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return sorted([...counts].map(([text, count]) => [text, String(count)]));
}

function recordsOf(stored: readonly string[]): Map<string, JobRecord> {
  const records = Object.entries(fieldsOf(stored)).filter(([field]) => !field.endsWith(' log'));
  return new Map(records.map(([number, text]) => [number, JSON.parse(text) as JobRecord]));
}

function countsOf(fields: Record<string, string>): Counts {
  return Object.fromEntries(JOB_STATES.map((state) => [state, Number(fields[state] ?? 0)])) as Counts;
}

function fieldsOf(flat: readonly string[]): Record<string, string> {
  return sorted(flat.flatMap((field, n) => (n % 2 === 0 ? [[field, flat[n + 1] ?? ''] as const] : [])));
}

function sorted(entries: (readonly [string, string])[]): Record<string, string> {
  return Object.fromEntries(entries.sort(([left], [right]) => (left < right ? -1 : 1)));
}

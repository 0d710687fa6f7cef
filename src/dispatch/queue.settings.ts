import { z } from 'zod';
import { poolNameSchema } from '../pool/pool.settings.js';

/** The most jobs that may run at once in one queue: a process that is alone watches all of them. */
export const MAX_LIMIT = 10_000;
const DAY_MS = 24 * 60 * 60 * 1_000;

export const queueNameSchema = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9._-]{0,63}$/,
    'must be 1 to 64 of a-z, 0-9, ".", "_" and "-", and begin with a letter or digit',
  )
  .describe('Name of the queue')
  .meta({ example: 'crawls' });

const launcherSchema = z
  .looseObject({ type: z.string().min(1).max(64).describe('Name of a launcher').meta({ example: 'scrapyd' }) })
  .describe('How jobs are started on a node; what may stand besides `type` the launcher says');

const retrySchema = z.strictObject({
  attempts: z.int().min(1).max(100).describe('Most starts of one job, those after a loss included'),
  backoffMs: z
    .int()
    .min(100)
    .max(3_600_000)
    .describe('Until the second start, in ms; twice as long until each that follows, at most an hour'),
});

const lossSchema = z.strictObject({
  afterMs: z
    .int()
    .min(1_000)
    .max(DAY_MS)
    .describe('For how long a node may not know a job that ran on it before the job counts as lost, in ms'),
  unreachableMs: z
    .int()
    .min(1_000)
    .max(7 * DAY_MS)
    .describe('For how long a node may give no answer before the jobs on it count as lost, in ms'),
  retry: z.boolean().describe('Whether a lost job is started again, while it has attempts left'),
});

/** The settings of a queue, whole. */
export const queueSettingsSchema = z.strictObject({
  pool: poolNameSchema.describe('The pool whose members are the nodes; its strategy must have leases'),
  limit: z.int().min(1).max(MAX_LIMIT).describe('Most jobs that are starting or running at once').meta({ example: 4 }),
  launcher: launcherSchema,
  retry: retrySchema,
  loss: lossSchema,
  pollMs: z.int().min(100).max(60_000).describe('How often a node is asked how its jobs are, in ms'),
  callMs: z.int().min(100).max(60_000).describe('How long one call to a node may take, in ms'),
  leaseTtlMs: z
    .int()
    .min(3_000)
    .max(3_600_000)
    .describe('How long a node stays leased for a job that nobody watches, in ms'),
  keepMs: z
    .int()
    .min(1_000)
    .max(30 * DAY_MS)
    .describe('How long a request is kept after the last of its jobs has ended, in ms'),
});
export type QueueSettings = z.output<typeof queueSettingsSchema>;
export type LauncherSettings = QueueSettings['launcher'];

/** What a PUT or PATCH takes: an absent field keeps its value, or takes the default in a new queue. */
export const queueChangesSchema = queueSettingsSchema
  .extend({ retry: retrySchema.partial(), loss: lossSchema.partial() })
  .partial();
export type QueueChanges = z.input<typeof queueChangesSchema>;
export type CheckedQueueChanges = z.output<typeof queueChangesSchema>;

/** What a new queue must be given. */
export const REQUIRED = ['pool', 'limit', 'launcher'] as const;

const DEFAULTS: Omit<QueueSettings, (typeof REQUIRED)[number]> = {
  retry: { attempts: 3, backoffMs: 1_000 },
  loss: { afterMs: 30_000, unreachableMs: 600_000, retry: true },
  pollMs: 2_000,
  callMs: 10_000,
  leaseTtlMs: 60_000,
  keepMs: DAY_MS,
};

/** The settings that changes make of what there is, or of the defaults; undefined where something is missing. */
export function mergeQueueSettings(
  changes: CheckedQueueChanges,
  current: QueueSettings | undefined,
): Partial<QueueSettings> {
  const base = current ?? DEFAULTS;
  return {
    ...base,
    ...changes,
    retry: { ...base.retry, ...changes.retry },
    loss: { ...base.loss, ...changes.loss },
  };
}

/** Settings that hold several, each of which is a field of its own: two who change one each lose neither. */
const GROUPS = { retry: Object.keys(retrySchema.shape), loss: Object.keys(lossSchema.shape) };

/** Settings as the fields of a hash. */
export function queueFields(settings: CheckedQueueChanges): string[] {
  const { retry = {}, loss = {}, ...others } = settings;
  return [...fieldsOf(others), ...fieldsOf(retry, 'retry.'), ...fieldsOf(loss, 'loss.')];
}

function fieldsOf(values: object, prefix = ''): string[] {
  return Object.entries(values).flatMap(([field, value]) => [prefix + field, JSON.stringify(value)]);
}

/** The settings in the hash of a queue; undefined where there is no queue, or it is being deleted. */
export function readQueueSettings(fields: Readonly<Record<string, string>>): QueueSettings | undefined {
  if (fields['pool'] === undefined || fields['deleting'] !== undefined) return undefined;
  const valuesOf = (names: readonly string[], prefix = '') =>
    Object.fromEntries(names.map((name) => [name, JSON.parse(fields[prefix + name] ?? 'null') as unknown]));
  return {
    ...valuesOf(Object.keys(queueSettingsSchema.shape)),
    retry: valuesOf(GROUPS.retry, 'retry.'),
    loss: valuesOf(GROUPS.loss, 'loss.'),
  } as QueueSettings;
}

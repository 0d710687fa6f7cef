import { z } from 'zod';
import { bansSchema, healthSchema } from '../eligibility/health/health.settings.js';
import { policySchema } from '../eligibility/policy/policy.settings.js';
import { probeSchema } from '../eligibility/probe/probe.settings.js';
import { filterIdOf, filtersSchema } from '../eligibility/rules/label.filter.js';

const MAX_LEASE_TTL_MS = 7 * 24 * 60 * 60 * 1_000;

export const poolNameSchema = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9._-]{0,63}$/,
    'must be 1 to 64 of a-z, 0-9, ".", "_" and "-", and begin with a letter or digit',
  )
  .describe('Name of the pool')
  .meta({ example: 'shop' });

const leaseSettingsSchema = z.strictObject({
  ttlMs: z
    .int()
    .min(1_000)
    .max(MAX_LEASE_TTL_MS)
    .describe('How long a lease lives unless a request says otherwise, in ms'),
  maxTtlMs: z.int().min(1_000).max(MAX_LEASE_TTL_MS).describe('The longest life that a request may ask for, in ms'),
});

const sessionSettingsSchema = z.strictObject({
  ttlMs: z
    .int()
    .min(1_000)
    .max(7 * 24 * 60 * 60 * 1_000)
    .describe('How long after its last selection a session is forgotten, in ms'),
});

/** The settings of a pool, whole. */
export const poolSettingsSchema = z.strictObject({
  strategy: z.string().min(1).max(64).describe('Name of a registered strategy').meta({ example: 'least-assigned' }),
  restore: z
    .enum(['level', 'keep', 'reset'])
    .describe(
      'The balance of a member that becomes eligible again: at least the lowest among the eligible, its own, or zero',
    ),
  initialCount: z
    .union([z.literal('level'), z.int().min(0).max(1_000_000_000)])
    .describe('The balance of a new member: the lowest among the eligible, or a number (for one of weight 1)'),
  capacity: z.int().min(1).max(1_000).nullable().describe('Most live leases of one member, null for no bound'),
  limit: z.int().min(1).max(1_000_000).nullable().describe('Most live leases of the whole pool, null for no bound'),
  lease: leaseSettingsSchema,
  candidates: z
    .enum(['trust', 'probe'])
    .describe('Whether a new member is eligible at once, or when a probe has found it to work'),
  policy: policySchema.nullable().describe('Which members are fit, by what they are; null for all'),
  health: healthSchema.nullable().describe('What outcomes mean; null: only `banned` has an effect'),
  bans: bansSchema,
  probe: probeSchema.nullable().describe('How candidates and unhealthy members are probed; null for never'),
  filters: filtersSchema,
  session: sessionSettingsSchema,
});

/**
 * What a PUT takes: an absent field keeps its value, or takes the default in a new pool. `policy`, `health` and `probe` are taken as
 * a whole: what is absent in them takes its default.
 */
export const poolChangesSchema = poolSettingsSchema
  .extend({
    lease: leaseSettingsSchema.partial(),
    bans: bansSchema.partial(),
    session: sessionSettingsSchema.partial(),
  })
  .partial();

export type RestorePolicy = z.infer<typeof poolSettingsSchema>['restore'];
export type PoolSettings = z.output<typeof poolSettingsSchema>;
export type PoolChanges = z.input<typeof poolChangesSchema>;
export type CheckedChanges = z.output<typeof poolChangesSchema>;

export function defaultSettings(strategy: string): PoolSettings {
  return {
    strategy,
    restore: 'level',
    initialCount: 'level',
    capacity: null,
    limit: null,
    lease: { ttlMs: 60_000, maxTtlMs: 3_600_000 },
    candidates: 'trust',
    policy: null,
    health: null,
    bans: { cooldownMs: 600_000 },
    probe: null,
    filters: [],
    session: { ttlMs: 600_000 },
  };
}

/** What the settings become with the changes in them. */
export function mergeSettings(settings: PoolSettings, changes: CheckedChanges): PoolSettings {
  return {
    ...settings,
    ...defined(changes),
    lease: { ...settings.lease, ...defined(changes.lease ?? {}) },
    bans: { ...settings.bans, ...defined(changes.bans ?? {}) },
    session: { ...settings.session, ...defined(changes.session ?? {}) },
  };
}

/** The hash fields that changes are written to; scripts read the same names. Filters are written with the rules, by put.lua. */
export function settingsFields(changes: CheckedChanges): string[] {
  const { strategy: _strategy, filters: _filters, lease, policy, health, probe, bans, session, ...plain } = changes;
  const flat = {
    ...plain,
    leaseTtlMs: lease?.ttlMs,
    leaseMaxTtlMs: lease?.maxTtlMs,
    policy: asJson(policy),
    health: asJson(health),
    probe: asJson(probe),
    banMs: bans?.cooldownMs,
    sessionTtlMs: session?.ttlMs,
  };
  return Object.entries(defined(flat)).flatMap(([field, value]) => [field, value === null ? '' : String(value)]);
}

/** Filters as scripts know them: one a line. */
export function writeFilters(filters: PoolSettings['filters']): string {
  return filters.map(filterIdOf).join('\n');
}

export function readFilters(text: string | undefined): PoolSettings['filters'] {
  return text ? text.split('\n').map((line) => JSON.parse(line) as string[]) : [];
}

/** The settings that a hash of such fields holds. */
export function readSettings(fields: Record<string, string>): PoolSettings {
  const number = (field: string) => (fields[field] ? Number(fields[field]) : null);
  const json = (field: string) => (fields[field] ? (JSON.parse(fields[field]) as unknown) : null);
  return {
    strategy: fields['strategy'] ?? '',
    restore: fields['restore'] as RestorePolicy,
    initialCount: fields['initialCount'] === 'level' ? 'level' : Number(fields['initialCount']),
    capacity: number('capacity'),
    limit: number('limit'),
    lease: { ttlMs: Number(fields['leaseTtlMs']), maxTtlMs: Number(fields['leaseMaxTtlMs']) },
    candidates: fields['candidates'] as PoolSettings['candidates'],
    policy: json('policy') as PoolSettings['policy'],
    health: json('health') as PoolSettings['health'],
    bans: { cooldownMs: Number(fields['banMs']) },
    probe: json('probe') as PoolSettings['probe'],
    filters: readFilters(fields['filters']),
    session: { ttlMs: Number(fields['sessionTtlMs']) },
  };
}

function asJson(settings: object | null | undefined): string | null | undefined {
  return settings ? JSON.stringify(settings) : settings;
}

function defined<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;
}

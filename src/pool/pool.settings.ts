import { z } from 'zod';

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
});

/** What a PUT takes: an absent field keeps its value, or takes the default in a new pool. */
export const poolChangesSchema = poolSettingsSchema.extend({ lease: leaseSettingsSchema.partial() }).partial();

export type RestorePolicy = z.infer<typeof poolSettingsSchema>['restore'];
export type PoolSettings = z.infer<typeof poolSettingsSchema>;
export type PoolChanges = z.infer<typeof poolChangesSchema>;

export function defaultSettings(strategy: string): PoolSettings {
  return {
    strategy,
    restore: 'level',
    initialCount: 'level',
    capacity: null,
    limit: null,
    lease: { ttlMs: 60_000, maxTtlMs: 3_600_000 },
  };
}

/** What the settings become with the changes in them. */
export function mergeSettings(settings: PoolSettings, changes: PoolChanges): PoolSettings {
  return { ...settings, ...defined(changes), lease: { ...settings.lease, ...defined(changes.lease ?? {}) } };
}

/** The hash fields that changes are written to; scripts read the same names. */
export function settingsFields(changes: PoolChanges): string[] {
  const { strategy: _strategy, lease, ...rest } = changes;
  const flat = { ...rest, leaseTtlMs: lease?.ttlMs, leaseMaxTtlMs: lease?.maxTtlMs };
  return Object.entries(defined(flat)).flatMap(([field, value]) => [field, value === null ? '' : String(value)]);
}

/** The settings that a hash of such fields holds. */
export function readSettings(fields: Record<string, string>): PoolSettings {
  const number = (field: string) => (fields[field] ? Number(fields[field]) : null);
  return {
    strategy: fields['strategy'] ?? '',
    restore: fields['restore'] as RestorePolicy,
    initialCount: fields['initialCount'] === 'level' ? 'level' : Number(fields['initialCount']),
    capacity: number('capacity'),
    limit: number('limit'),
    lease: { ttlMs: Number(fields['leaseTtlMs']), maxTtlMs: Number(fields['leaseMaxTtlMs']) },
  };
}

function defined<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;
}

import { z } from 'zod';

const MAX_COOLDOWN_MS = 7 * 24 * 60 * 60 * 1_000;
const cooldownMs = z.int().min(1_000).max(MAX_COOLDOWN_MS);

const successRatioSchema = z.strictObject({
  below: z.number().gt(0).max(1).describe('A cooldown begins when the share of successes falls below this'),
  sample: z.int().min(1).max(10_000).default(20).describe('The fewest outcomes in the window that say anything'),
});

/** What outcomes mean for a member. */
export const healthSchema = z.strictObject({
  failures: z
    .int()
    .min(1)
    .max(100)
    .nullable()
    .default(5)
    .describe('A cooldown begins with that many failures within the window; null for no such rule'),
  windowMs: z.int().min(1_000).max(86_400_000).default(60_000).describe('The window, in ms'),
  successRatio: successRatioSchema.nullable().default(null).describe('A second rule; null for none'),
  cooldownMs: cooldownMs.default(30_000).describe('The first cooldown, in ms; each further one is twice as long'),
  maxCooldownMs: cooldownMs.default(3_600_000).describe('The longest cooldown, in ms'),
  jitter: z.number().min(0).max(0.5).default(0.1).describe('A cooldown is longer or shorter by up to this share of it'),
  maxEjected: z
    .number()
    .min(0)
    .max(1)
    .default(0.5)
    .describe('The largest share of the members that outcomes may withdraw at the same time; one they may always'),
  trial: z
    .boolean()
    .default(false)
    .describe('After a cooldown one lease or selection at a time, until the first success'),
});

/** How long an outcome `banned` lasts: for its target, or for the member where it has none. */
export const bansSchema = z.strictObject({
  cooldownMs: cooldownMs.describe('In ms'),
});

export type HealthSettingsInput = z.input<typeof healthSchema>;
export type HealthSettings = z.output<typeof healthSchema>;
export type BanSettings = z.output<typeof bansSchema>;

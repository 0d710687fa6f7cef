import { z } from 'zod';
import { redisOptionsSchema } from '../redis/redis.options.js';

export const selectionOptionsSchema = z.strictObject({
  redis: redisOptionsSchema,
  /** The strategy of a pool that names none. */
  defaultStrategy: z.string().min(1).max(64).default('least-assigned'),
});
export type SelectionOptionsInput = z.input<typeof selectionOptionsSchema>;
export type SelectionOptions = z.output<typeof selectionOptionsSchema>;

export const SELECTION_OPTIONS = Symbol('SELECTION_OPTIONS');

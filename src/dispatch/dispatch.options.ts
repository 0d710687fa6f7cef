import { z } from 'zod';

export const dispatchOptionsSchema = z.strictObject({
  /** A process that has not shown for this long that it lives, in ms, has died: within twice that, others go on with its jobs. */
  takeoverMs: z.int().min(1_000).max(60_000).default(10_000),
});
export type DispatchOptionsInput = z.input<typeof dispatchOptionsSchema>;
export type DispatchOptions = z.output<typeof dispatchOptionsSchema>;

export const DISPATCH_OPTIONS = Symbol('DISPATCH_OPTIONS');

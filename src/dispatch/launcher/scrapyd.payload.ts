import { z } from 'zod';

const MAX_ENTRIES = 100;
const name = z.string().min(1).max(256);
const value = z.union([z.string().max(65_536), z.number(), z.boolean()]);

/** What `schedule.json` takes for itself: an argument of the spider cannot be called so. */
const TAKEN = [
  'project',
  'spider',
  'jobid',
  '_version',
  'priority',
  'setting',
  '_job',
  'name',
  'settings',
  '_project',
  '_spider',
];

const entries = z.record(name, value).refine((given) => Object.keys(given).length <= MAX_ENTRIES, {
  error: `must not have more than ${MAX_ENTRIES} entries`,
});

/** What a queue sets for all of its jobs. */
export const scrapydOptionsSchema = z.strictObject({
  project: name.optional().describe('The project of jobs that name none, on nodes without a label `project`'),
  spider: name.optional().describe('The spider of jobs that name none'),
});
export type ScrapydOptions = z.output<typeof scrapydOptionsSchema>;

export const scrapydPayloadSchema = z.strictObject({
  project: name.optional(),
  spider: name.optional(),
  version: name.optional().describe('Version of the project; the newest one if absent'),
  priority: z.number().optional().describe("In the node's own line"),
  settings: entries
    .refine((given) => Object.keys(given).every((key) => !key.includes('=')), { error: 'must have no "=" in a name' })
    .optional()
    .describe('Settings of Scrapy'),
  args: entries
    .refine((given) => !Object.keys(given).some((key) => TAKEN.includes(key)), {
      error: `must not name ${TAKEN.join(', ')}`,
    })
    .optional()
    .describe('Arguments of the spider'),
});
export type ScrapydPayload = z.output<typeof scrapydPayloadSchema>;

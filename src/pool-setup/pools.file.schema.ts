import { extname } from 'node:path';
import { z } from 'zod';
import { LIST_FORMATS, type ListFormat } from '../pool/lists/member.list.js';
import { importOptionsSchema } from '../pool/member.importer.js';
import { poolChangesSchema, poolNameSchema } from '../pool/pool.settings.js';

const MAX_SOURCES = 20;
const FORMATS: Readonly<Record<string, ListFormat>> = {
  '.txt': 'text',
  '.json': 'json',
  '.jsonl': 'ndjson',
  '.ndjson': 'ndjson',
  '.csv': 'csv',
};
const URL_RULE = 'must be an http:// or https:// URL';
const FORMAT_RULE = `must be one of ${LIST_FORMATS.join(', ')}, since the name ends in none of ${Object.keys(FORMATS).join(', ')}`;

const sourceSchema = z
  .strictObject({
    file: z.string().min(1, 'must name a file').optional(),
    url: z.string().refine(isHttpUrl, URL_RULE).optional(),
    format: z.enum(LIST_FORMATS, `must be one of ${LIST_FORMATS.join(', ')}`).optional(),
  })
  .transform(({ file, url, format }, context): MemberSourceSetup => {
    const known = format ?? formatOf(file ?? new URL(url ?? 'http://localhost').pathname);
    if (file !== undefined && url === undefined && known) return { kind: 'file', at: file, format: known };
    if (url !== undefined && file === undefined && known) return { kind: 'url', at: url, format: known };
    if ((file === undefined) === (url === undefined)) {
      context.addIssue({ code: 'custom', message: 'must have either a file or a url' });
    } else {
      context.addIssue({ code: 'custom', path: ['format'], message: FORMAT_RULE });
    }
    return z.NEVER;
  });

/** Where a list of members is, and how it is written. */
export interface MemberSourceSetup {
  kind: 'file' | 'url';
  /** A path, relative to the pools file, or a URL that may hold credentials. */
  at: string;
  format: ListFormat;
}

const membersSchema = z.strictObject({
  mode: importOptionsSchema.shape.mode,
  defaultScheme: importOptionsSchema.shape.defaultScheme,
  sources: z
    .array(sourceSchema, 'must be a list of sources, each a file or a url')
    .min(1, 'must name at least one source')
    .max(MAX_SOURCES, `must be at most ${MAX_SOURCES} sources`),
});
export type MembersSetup = z.output<typeof membersSchema>;

const poolSchema = poolChangesSchema
  .extend({ members: membersSchema.optional() })
  .nullable()
  .transform((pool) => pool ?? {});

/** A whole pools file: every setting of a PUT for each pool, and `members`. A pool without anything in it is fine. */
export const poolsFileSchema = z.strictObject(
  { pools: z.record(poolNameSchema, poolSchema, 'must be an object of pools, by their names') },
  { error: (issue) => (issue.code === 'invalid_type' ? 'must be an object with "pools"' : undefined) },
);

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function formatOf(name: string): ListFormat | undefined {
  return FORMATS[extname(name).toLowerCase()];
}

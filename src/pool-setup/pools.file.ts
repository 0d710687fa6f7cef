import { basename } from 'node:path';
import type { z } from 'zod';
import { decodeList } from '../pool/lists/list.text.js';
import type { PoolChanges } from '../pool/pool.settings.js';
import { readFileBounded } from './file.reader.js';
import { PoolsFileError } from './pools.file.error.js';
import { type MembersSetup, poolsFileSchema } from './pools.file.schema.js';
import { SourceError } from './source.error.js';
import { MAX_PROBLEMS, YamlDocument } from './yaml.document.js';

/** The largest pools file, in bytes. */
const MAX_BYTES = 1_048_576;

/** What a pool is to be. */
export interface PoolSetup {
  name: string;
  settings: PoolChanges;
  members: MembersSetup | undefined;
}

/** A pools file that was read and checked. */
export interface PoolsFile {
  pools: readonly PoolSetup[];
  /** Says a problem with its place, as in `pools.yaml:12: pools.shop.restore: ...`. */
  problem(path: readonly PropertyKey[], message: string): string;
}

/**
 * Reads a pools file, YAML or JSON, and checks it.
 *
 * @throws PoolsFileError with a line for each problem
 */
export async function readPoolsFile(path: string): Promise<PoolsFile> {
  const name = basename(path);
  const document = new YamlDocument(name, await readText(path, name));
  const parsed = poolsFileSchema.safeParse(document.value, { reportInput: false });
  if (!parsed.success) {
    const issues = parsed.error.issues.slice(0, MAX_PROBLEMS);
    throw new PoolsFileError(issues.flatMap((issue) => problemsOf(issue, document)).slice(0, MAX_PROBLEMS));
  }
  const pools = Object.entries(parsed.data.pools).map(([pool, { members, ...settings }]) => ({
    name: pool,
    settings,
    members,
  }));
  return { pools, problem: (at, message) => document.problem(at, message) };
}

async function readText(path: string, name: string): Promise<string> {
  try {
    return decodeList(await readFileBounded(path, MAX_BYTES));
  } catch (cause) {
    if (cause instanceof SourceError) throw new PoolsFileError([`${name}: ${cause.message}`], { cause });
    throw cause;
  }
}

function problemsOf(issue: z.core.$ZodIssue, document: YamlDocument): string[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys
      .slice(0, MAX_PROBLEMS)
      .map((key) => document.problem([...issue.path, key], 'is not a known field'));
  }
  const message = issue.code === 'invalid_key' ? issue.issues[0]?.message : undefined;
  return [document.problem(issue.path, message ?? issue.message)];
}

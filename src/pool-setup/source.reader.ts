import { resolve } from 'node:path';
import { ColumnsUnknownError, ValidationFailedError } from '../errors/domain.errors.js';
import type { ProxyScheme } from '../pool/lists/member.list.js';
import { readList } from '../pool/lists/read.list.js';
import type { MemberSource } from '../pool/member.importer.js';
import { readFileBounded } from './file.reader.js';
import type { MemberSourceSetup } from './pools.file.schema.js';
import { SourceError } from './source.error.js';
import { type UrlLimits, readUrl, shownUrl } from './url.reader.js';

/** How many rejected entries are named. */
export const MAX_REJECTED_SHOWN = 5;

/** A list that was read, and can be imported. */
export interface ReadSource extends MemberSource {
  /** The first entries that were rejected, as in `lists/a.txt:7: no host:port found`. */
  rejected: readonly string[];
}

export interface SourceContext {
  /** What paths are relative to. */
  directory: string;
  defaultScheme: ProxyScheme;
  limits: UrlLimits;
}

/**
 * Reads a source whole and looks whether it is a list of its format.
 *
 * @throws SourceError
 */
export async function readSource(source: MemberSourceSetup, context: SourceContext): Promise<ReadSource> {
  const { kind, at, format } = source;
  const { directory, defaultScheme, limits } = context;
  const body = await (kind === 'file' ? readFileBounded(resolve(directory, at), limits.maxBytes) : readUrl(at, limits));
  const name = shownSource(source);
  return { format, body, rejected: rejectedOf({ format, body }, defaultScheme).map((entry) => `${name}:${entry}`) };
}

/** A source as people may see it. */
export function shownSource({ kind, at }: MemberSourceSetup): string {
  return kind === 'file' ? at : shownUrl(at);
}

function rejectedOf({ format, body }: MemberSource, defaultScheme: ProxyScheme): string[] {
  const rejected: string[] = [];
  try {
    // The tag stands only in ids, which nobody sees here.
    for (const entry of readList(format, body, { defaultScheme, passwordTag: () => '00000000' })) {
      if ('reason' in entry && rejected.length < MAX_REJECTED_SHOWN) rejected.push(`${entry.line}: ${entry.reason}`);
    }
    return rejected;
  } catch (cause) {
    if (!(cause instanceof ValidationFailedError || cause instanceof ColumnsUnknownError)) throw cause;
    throw new SourceError(`is no list of the format ${format}: ${cause.message}`, { cause });
  }
}

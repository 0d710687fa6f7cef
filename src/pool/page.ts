import { z } from 'zod';
import { ValidationFailedError } from '../errors/domain.errors.js';

/** Enough for the base64url of the longest id, 512 characters of up to three bytes each, and what a page adds to it. */
const MAX_CURSOR_LENGTH = 4_096;

export const pageRequestSchema = z.strictObject({
  limit: z.int().min(1).max(1_000).default(100).describe('Most entries of one page'),
  cursor: z.string().min(1).max(MAX_CURSOR_LENGTH).optional().describe('`nextCursor` of the page before'),
});
export type PageRequest = z.input<typeof pageRequestSchema>;

/** One page of a list; `nextCursor` is null on the last one. */
export type Page<Name extends string, Item> = Record<Name, Item[]> & { nextCursor: string | null };

/** Cuts what was read, one entry more than asked for, to a page; the cursor is the last id on it. */
export function pageOf<Item>(
  found: readonly Item[],
  limit: number,
  idOf: (item: Item) => string,
): { items: Item[]; nextCursor: string | null } {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  const more = found.length > limit && last !== undefined;
  return { items, nextCursor: more ? Buffer.from(idOf(last)).toString('base64url') : null };
}

/** @throws ValidationFailedError when the text is no cursor of ours */
export function readCursor(cursor: string): string {
  const id = Buffer.from(cursor, 'base64url').toString('utf8');
  if (Buffer.from(id).toString('base64url') !== cursor) throw notACursor();
  return id;
}

/** Of a list whose cursors are whole numbers. @throws ValidationFailedError when the text is no cursor of ours */
export function readNumberCursor(cursor: string): number {
  const text = readCursor(cursor);
  if (!/^[0-9]{1,15}$/.test(text)) throw notACursor();
  return Number(text);
}

function notACursor(): ValidationFailedError {
  const message = 'is not a cursor that a page returned';
  return new ValidationFailedError(`"cursor" ${message}.`, [{ path: 'cursor', message }]);
}

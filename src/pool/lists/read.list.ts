import { readCsvList } from './csv.list.js';
import { readJsonList } from './json.list.js';
import { decodeList } from './list.text.js';
import type { ListEntry, ListFormat, ListOptions } from './member.list.js';
import { readNdjsonList } from './ndjson.list.js';
import { readTextList } from './text.list.js';

const READERS = { json: readJsonList, text: readTextList, ndjson: readNdjsonList, csv: readCsvList } as const;

/**
 * Reads a list entry by entry, so that a caller can let other work have its turn. Repeats are not looked for.
 *
 * @throws ValidationFailedError | ColumnsUnknownError when the list as a whole cannot be read
 */
export function* readList(format: ListFormat, body: Uint8Array | string, options: ListOptions): Generator<ListEntry> {
  yield* READERS[format](decodeList(body), options);
}

import { readJsonLine } from './list.element.js';
import { linesOf } from './list.text.js';
import type { ListEntry, ListOptions } from './member.list.js';

/** Reads a list of JSON objects, one a line; blank lines are skipped. */
export function* readNdjsonList(text: string, options: ListOptions): Generator<ListEntry> {
  for (const { line, content } of linesOf(text)) {
    const object = content.trim();
    if (object !== '') {
      yield { line, ...(object.startsWith('{') ? readJsonLine(object, options) : { reason: 'not a JSON object' }) };
    }
  }
}

import { readAddressLine } from './address.line.js';
import { readJsonElements } from './json.list.js';
import { readJsonLine } from './list.element.js';
import { linesOf } from './list.text.js';
import type { ListEntry, ListOptions, ReadMember } from './member.list.js';
import { StrictJsonError } from './strict.json.error.js';
import { parseStrictJson } from './strict.json.js';

/**
 * Reads a list as people have it, one address or JSON object a line; a text that is one JSON array is read as that.
 *
 * @throws StrictJsonError when it is a JSON array with a key that is refused
 */
export function* readTextList(text: string, options: ListOptions): Generator<ListEntry> {
  const elements = jsonArrayOf(text);
  if (elements) {
    yield* readJsonElements(elements, options);
    return;
  }
  for (const { line, content } of linesOf(text)) {
    const read = readLine(content.trim(), options);
    if (read) yield { line, ...read };
  }
}

/** What a line holds; nothing where it is blank or a comment. */
function readLine(line: string, options: ListOptions): ReadMember | undefined {
  if (line === '' || line.startsWith('#') || line.startsWith('//')) return undefined;
  if (line.startsWith('{')) return readJsonLine(line.endsWith(',') ? line.slice(0, -1) : line, options);
  return readAddressLine(line, options);
}

/** The elements, if the whole text is a JSON array; an IPv6 address begins with a bracket too. */
function jsonArrayOf(text: string): unknown[] | undefined {
  if (!/^\s*\[/.test(text)) return undefined;
  try {
    return parseStrictJson(text) as unknown[];
  } catch (error) {
    if (error instanceof StrictJsonError && error.malformed) return undefined;
    throw error;
  }
}

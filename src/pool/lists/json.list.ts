import { z } from 'zod';
import { parseInput } from '../../errors/parse.input.js';
import { readElement } from './list.element.js';
import type { ListEntry, ListOptions } from './member.list.js';
import { readMemberObject } from './member.object.js';
import { parseStrictJson } from './strict.json.js';

const FORM = 'must be {"members": [...]} or an array of proxies';

/** Only the outside: the members are checked one by one, so that a bad one is rejected and the others are taken. */
const memberListFormSchema = z.strictObject(
  { members: z.array(z.unknown(), 'must be an array') },
  { error: (issue) => (issue.code === 'invalid_type' ? FORM : undefined) },
);

/**
 * Reads `{"members": [...]}`, or an array of proxies as lists have them. `line` is the position, from 1.
 *
 * @throws ValidationFailedError when the whole is malformed or has neither form
 */
export function* readJsonList(text: string, options: ListOptions): Generator<ListEntry> {
  const list = parseStrictJson(text);
  if (Array.isArray(list)) {
    yield* readJsonElements(list, options);
    return;
  }
  const { members } = parseInput(memberListFormSchema, list);
  for (const [index, member] of members.entries()) yield { line: index + 1, ...readMemberObject(member, options) };
}

export function* readJsonElements(elements: readonly unknown[], options: ListOptions): Generator<ListEntry> {
  for (const [index, element] of elements.entries()) yield { line: index + 1, ...readElement(element, options) };
}

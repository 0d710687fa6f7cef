import { createHash } from 'node:crypto';
import type { Labels } from '../../pool/member.js';
import { type LabelFilter, filterIdOf } from './label.filter.js';

/** 66 bits in base64url; lua/include/views.lua counts on the length. */
const NAME_LENGTH = 11;
const MAX_REMEMBERED = 10_000;
const remembered = new Map<string, string>();

/** The name of the view of the members that have these values of a filter's labels; the same ones by type and value. */
export function viewNameOf(filter: LabelFilter, labels: Labels): string {
  const text = `${filterIdOf(filter)}\n${JSON.stringify(filter.map((name) => labels[name]))}`;
  const known = remembered.get(text);
  if (known !== undefined) return known;
  const name = createHash('sha256').update(text).digest('base64url').slice(0, NAME_LENGTH);
  if (remembered.size >= MAX_REMEMBERED) remembered.clear();
  remembered.set(text, name);
  return name;
}

/** The names of all views that a member with these labels is in, one after the other. */
export function viewsOf(filters: readonly LabelFilter[], labels: Labels): string {
  const matching = filters.filter((filter) => filter.every((name) => Object.hasOwn(labels, name)));
  return matching.map((filter) => viewNameOf(filter, labels)).join('');
}

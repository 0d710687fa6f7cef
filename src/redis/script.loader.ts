import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const LUA_ROOT = new URL('../../lua/', import.meta.url);
const INCLUDE = /^--@include (\S+)$/gm;
const INDEX = /^--@index (\w+)(?: (\d+))?$/gm;
/** Where the keys of a strategy's index begin, behind those of the catalogue. */
const FIRST_INDEX_KEY = 14;
const HEADER = /^--\[\[[\s\S]*?\]\]\n/;

/** A piece of Lua that a script is composed with: the operations of a strategy's index, and how many keys they take. */
export interface IndexFragment {
  source: string;
  keyCount: number;
}

/**
 * Reads a script of `lua/` and puts in what its directives name.
 *
 * `--@include <path>` stands for another file; `--@index <name>` for the operations of a strategy's index, as a table of
 * that name, which takes its keys behind those of the catalogue, or from the number on that is given. Comment headers are left out of what is sent.
 *
 * @param fragments one for each `--@index`, in the order in which they stand
 */
export function loadScript(path: string, fragments: readonly IndexFragment[] = []): string {
  let nextKey = FIRST_INDEX_KEY;
  let used = 0;
  const text = readLua(path).replace(INDEX, (_directive, name: string, firstKey?: string) => {
    const fragment = fragments[used++];
    if (!fragment) throw new Error(`${path} asks for the index "${name}", which was not given.`);
    const first = firstKey === undefined ? nextKey : Number(firstKey);
    const keys = Array.from({ length: fragment.keyCount }, (_, n) => `KEYS[${first + n}]`);
    if (firstKey === undefined) nextKey += fragment.keyCount;
    return `local ${name} = (function(...)\n${fragment.source}end)(${keys.join(', ')})`;
  });
  if (used !== fragments.length) throw new Error(`${path} takes ${used} index fragments, not ${fragments.length}.`);
  return text;
}

/** Reads a file of `lua/` with its includes, without comment headers. */
export function readLua(path: string): string {
  const text = readFileSync(fileURLToPath(new URL(path, LUA_ROOT)), 'utf8');
  return text.replace(HEADER, '').replace(INCLUDE, (_directive, included: string) => readLua(included));
}

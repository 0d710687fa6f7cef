import { type JSONPath, type JSONVisitor, visit } from 'jsonc-parser';
import { StrictJsonError } from './strict.json.error.js';

/** How many objects and arrays may stand in one another. */
const MAX_DEPTH = 64;
/** Keys are shown up to this many characters. */
const MAX_KEY_SHOWN = 64;

/**
 * Reads JSON that has one meaning only: no key twice in an object, no `__proto__`, nesting of at most 64.
 * Linear in the length of the text, and safe for the stack.
 *
 * @throws StrictJsonError with line, column and, for a key, its path
 */
export function parseStrictJson(text: string): unknown {
  visit(text, new StrictVisitor(), { disallowComments: true });
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new StrictJsonError('malformed JSON', true, 1, 1, '');
  }
}

/** Stops at the first thing that is wrong. The positions that it is given count from 0. */
class StrictVisitor implements JSONVisitor {
  private readonly keys: Set<string>[] = [];
  private depth = 0;

  readonly onObjectBegin = (
    _offset: number,
    _length: number,
    line: number,
    column: number,
    path: () => JSONPath,
  ): void => {
    this.enter(line, column, path);
    this.keys.push(new Set());
  };

  readonly onObjectEnd = (): void => {
    this.depth--;
    this.keys.pop();
  };

  readonly onArrayBegin = (
    _offset: number,
    _length: number,
    line: number,
    column: number,
    path: () => JSONPath,
  ): void => {
    this.enter(line, column, path);
  };

  readonly onArrayEnd = (): void => {
    this.depth--;
  };

  readonly onObjectProperty = (
    key: string,
    _offset: number,
    _length: number,
    line: number,
    column: number,
    path: () => JSONPath,
  ): void => {
    const seen = this.keys.at(-1);
    const repeated = seen?.has(key) ?? false;
    seen?.add(key);
    if (!repeated && key !== '__proto__') return;
    const problem = repeated ? 'a key that stands twice in its object' : 'the key __proto__ is not allowed';
    throw new StrictJsonError(problem, false, line + 1, column + 1, dotted([...path(), key]));
  };

  readonly onError = (_error: number, _offset: number, _length: number, line: number, column: number): void => {
    throw new StrictJsonError('malformed JSON', true, line + 1, column + 1, '');
  };

  private enter(line: number, column: number, path: () => JSONPath): void {
    if (++this.depth <= MAX_DEPTH) return;
    throw new StrictJsonError(`more than ${MAX_DEPTH} levels of nesting`, false, line + 1, column + 1, dotted(path()));
  }
}

function dotted(path: JSONPath): string {
  return path.map((part) => shortened(String(part))).join('.');
}

function shortened(key: string): string {
  return key.length > MAX_KEY_SHOWN ? `${key.slice(0, MAX_KEY_SHOWN)}…` : key;
}

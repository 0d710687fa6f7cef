import { type Document, isAlias, isMap, isPair, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml';
import { PoolsFileError } from './pools.file.error.js';
import { nestsTooDeep } from './yaml.nesting.js';

/** How much aliases may multiply a document. */
const MAX_ALIASES = 100;
/** How many problems one error names at most. */
export const MAX_PROBLEMS = 20;

type Path = readonly PropertyKey[];

/** A YAML document, or a JSON one, which is YAML too: its value, and the line of each part of it. */
export class YamlDocument {
  readonly value: unknown;
  private readonly lines = new LineCounter();
  private readonly document: Document;

  /**
   * @param name the file, as problems name it
   * @throws PoolsFileError when it is no YAML, has a key twice or `__proto__`, or expands without bound
   */
  constructor(
    private readonly name: string,
    text: string,
  ) {
    if (nestsTooDeep(text)) throw new PoolsFileError([`${name}: nests too deep`]);
    try {
      // Looking for repeated keys is done here, in linear time; the library compares each with each.
      this.document = parseDocument(text, { lineCounter: this.lines, uniqueKeys: false, prettyErrors: false });
      this.refuse(this.syntaxProblems());
      this.refuse(this.keyProblems());
      this.value = this.document.toJS({ maxAliasCount: MAX_ALIASES });
    } catch (cause) {
      if (cause instanceof PoolsFileError) throw cause;
      throw new PoolsFileError([`${name}: its aliases do not resolve, or expand too far`], { cause });
    }
  }

  /** A problem with its place: file, line, path. What is missing is placed where it should stand. */
  problem(path: Path, message: string): string {
    const shown = path.length === 0 ? '' : `${path.map(printable).join('.')}: `;
    return `${this.name}:${this.lineAt(this.offsetOf(path))}: ${shown}${message}`;
  }

  /** @throws PoolsFileError when there are problems */
  refuse(problems: readonly string[]): void {
    if (problems.length > 0) throw new PoolsFileError(problems.slice(0, MAX_PROBLEMS));
  }

  /** The library's own messages quote the text, which may hold credentials. */
  private syntaxProblems(): string[] {
    return this.document.errors.map(({ code, pos }) => {
      const what = code.toLowerCase().replaceAll('_', ' ');
      return `${this.name}:${this.lineAt(pos[0])}: is not valid YAML or JSON (${what})`;
    });
  }

  private keyProblems(): string[] {
    const problems: string[] = [];
    visit(this.document, {
      Map: (_key, map, ancestors) => {
        const seen = new Set<string>();
        for (const { key } of map.items) {
          const name = isScalar(key) ? String(key.value) : undefined;
          const path = [...ancestors.filter(isPair).map((pair) => String(pair.key)), name ?? '?'];
          const place = `${this.name}:${this.lineAt(startOf(key))}: ${path.map(printable).join('.')}`;
          if (name === undefined) problems.push(`${place}: a key must be a text`);
          else if (name === '__proto__') problems.push(`${place}: this key is not allowed`);
          else if (seen.has(name)) problems.push(`${place}: stands twice`);
          seen.add(name ?? '');
        }
      },
    });
    return problems;
  }

  private offsetOf(path: Path): number {
    let node: unknown = this.document.contents;
    let offset = startOf(node);
    for (const part of path) {
      if (isAlias(node)) node = node.resolve(this.document);
      if (isMap(node)) {
        const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part));
        if (!pair) return offset;
        offset = startOf(pair.key);
        node = pair.value;
      } else if (isSeq(node)) {
        node = node.items[Number(part)];
        offset = startOf(node);
      }
    }
    return offset;
  }

  private lineAt(offset: number): number {
    return Math.max(1, this.lines.linePos(offset).line);
  }
}

function startOf(node: unknown): number {
  const range = typeof node === 'object' && node !== null && 'range' in node ? node.range : undefined;
  return Array.isArray(range) ? Number(range[0]) : 0;
}

/** A part of a path on one line, whatever the file has in it. */
function printable(part: PropertyKey): string {
  return String(part)
    .replace(/[\p{Cc}\p{Cs}]/gu, '?')
    .slice(0, 64);
}

import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';

const LUA = join(dirname(fileURLToPath(import.meta.url)), '../../../lua');
const HEADER = /^--\[\[\n([\s\S]*?)\]\]\n/;

const all = readdirSync(LUA, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.lua'));
/** What stands alone and is sent to Redis; the rest is put into others. */
const scripts = all.filter((name) => !name.startsWith('include/') && !/(merge|level|row)\.lua$/.test(name));

interface Parts {
  header: string;
  body: string;
}

/** A script and everything that it includes. */
function partsOf(name: string): Parts[] {
  const text = readFileSync(join(LUA, name), 'utf8');
  const header = HEADER.exec(text)?.[1] ?? '';
  const body = text.replace(HEADER, '');
  const included = [...body.matchAll(/^--@include (\S+)$/gm)].map((match) => match[1] as string);
  return [{ header, body }, ...included.flatMap(partsOf)];
}

/** Declared positions: `KEYS[3]` is 3, `ARGV[5..]` is every one from 5 on. */
function declared(kind: 'KEYS' | 'ARGV', headers: string): { fixed: Set<number>; openFrom?: number } {
  const fixed = new Set<number>();
  let openFrom: number | undefined;
  for (const [, position, open] of headers.matchAll(new RegExp(`^ +${kind}\\[(\\d+)(\\.\\.)?\\]`, 'gm'))) {
    if (open) openFrom = Number(position);
    else fixed.add(Number(position));
  }
  return { fixed, ...(openFrom === undefined ? {} : { openFrom }) };
}

function read(kind: 'KEYS' | 'ARGV', body: string): { fixed: Set<number>; open: boolean } {
  const fixed = new Set([...body.matchAll(new RegExp(`${kind}\\[(\\d+)\\]`, 'g'))].map((match) => Number(match[1])));
  const open = new RegExp(`#${kind}|unpack\\(${kind}|${kind}\\[at`).test(body);
  return { fixed, open };
}

describe.each(scripts)('the header of lua/%s', (name) => {
  const parts = partsOf(name);
  const headers = parts.map((part) => part.header).join('\n');
  const body = parts.map((part) => part.body).join('\n');

  test.each(['KEYS', 'ARGV'] as const)('lists the %s that its body reads, and no others', (kind) => {
    const header = declared(kind, headers);
    const reads = read(kind, body);
    expect([...reads.fixed].sort((a, b) => a - b)).toEqual([...header.fixed].sort((a, b) => a - b));
    expect(reads.open).toBe(header.openFrom !== undefined);
  });

  test('says what it does, what it returns and what it costs where it works on members', () => {
    const own = parts[0]?.header ?? '';
    expect(own.trim().split('\n')[0]).toMatch(/\.|\w$/);
    expect(own).toMatch(/^ {2}Returns /m);
  });
});

test('every file of lua/ has a header', () => {
  for (const name of all) expect(partsOf(name)[0]?.header).not.toBe('');
});

test('no script names a key by itself', () => {
  for (const name of all)
    expect(readFileSync(join(LUA, name), 'utf8').replace(HEADER, '')).not.toMatch(/['"][^'"\n]*\{[^'"\n]*\}[^'"\n]*:/);
});

import { beforeAll, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  name: string;
  main: string;
  types: string;
  exports: Record<string, string | Record<string, string>>;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
};

/** Paths of the files that npm would publish. */
let published: string[];

beforeAll(async () => {
  const { npm_config_prefix: _users, ...env } = process.env;
  const cache = mkdtempSync(join(tmpdir(), 'evenhand-npm-'));
  try {
    const args = ['pack', '--dry-run', '--json', '--ignore-scripts', '--offline', '--cache', cache];
    const { stdout } = await promisify(execFile)('npm', args, { cwd: ROOT, env, maxBuffer: 16 * 1_048_576 });
    const [pack] = JSON.parse(stdout) as [{ files: { path: string }[] }];
    published = pack.files.map(({ path }) => path);
  } finally {
    rmSync(cache, { recursive: true, force: true });
  }
});

/** What a published file imports, by name. */
function importsOf(path: string): string[] {
  return ts.preProcessFile(readFileSync(join(ROOT, path), 'utf8')).importedFiles.map(({ fileName }) => fileName);
}

function packageOf(imported: string): string {
  return imported.split('/', imported.startsWith('@') ? 2 : 1).join('/');
}

describe('the package', () => {
  test('has every file that its manifest names', () => {
    const named = [
      manifest.main,
      manifest.types,
      ...Object.values(manifest.exports).flatMap((to) => Object.values(typeof to === 'string' ? [to] : to)),
    ];
    expect(named.length).toBeGreaterThan(3);
    for (const path of named) expect(published).toContain(posix.normalize(path));
  });

  test('holds what is built, the scripts for Redis, and what people read, and nothing else', () => {
    const allowed = /^(dist\/|lua\/.*\.lua$|(README|CHANGELOG)\.md$|LICENSE$|package\.json$)/;
    expect(published.filter((path) => !allowed.test(path))).toEqual([]);
    expect(published).toEqual(expect.arrayContaining(['README.md', 'CHANGELOG.md', 'LICENSE', 'dist/main.js']));
    expect(published.filter((path) => /(^|\/)(tests?|bench|examples)\/|\.test\./.test(path))).toEqual([]);
  });

  test('holds every script that the build loads, with all that it includes', () => {
    const named = new Set<string>();
    for (const path of published.filter((name) => name.endsWith('.js'))) {
      for (const [, lua] of readFileSync(join(ROOT, path), 'utf8').matchAll(/['"`]([\w/-]+\.lua)['"`]/g))
        named.add(lua!);
    }
    for (const lua of named) {
      const text = readFileSync(join(ROOT, 'lua', lua), 'utf8');
      for (const [, included] of text.matchAll(/^--@include (\S+)$/gm)) named.add(included!);
    }
    expect(named).toContain('least-assigned/select.lua');
    for (const lua of named) expect(published).toContain(`lua/${lua}`);
  });

  test('imports nothing that an installation without development packages lacks', () => {
    const known = [...Object.keys(manifest.dependencies), ...builtinModules];
    const found = published
      .filter((path) => /\.(js|d\.ts)$/.test(path))
      .flatMap((path) => importsOf(path).map((name) => ({ path, name })));
    const outside = found.filter(({ name }) => !name.startsWith('.') && !name.startsWith('node:'));
    expect(outside.map(({ name }) => packageOf(name))).toContain('@nestjs/common');
    expect(outside.filter(({ name }) => !known.includes(packageOf(name)))).toEqual([]);
  });

  test('imports none of its own files that it does not hold', () => {
    const own = published
      .filter((path) => path.endsWith('.js'))
      .flatMap((path) =>
        importsOf(path)
          .filter((name) => name.startsWith('.'))
          .map((name) => posix.join(posix.dirname(path), name)),
      );
    expect(own.length).toBeGreaterThan(50);
    expect(own.filter((path) => !published.includes(path))).toEqual([]);
  });

  test('loads by its name, and gives what its documentation uses', async () => {
    const program = `console.log(JSON.stringify(Object.keys(await import(${JSON.stringify(manifest.name)}))))`;
    const { NODE_OPTIONS: _testsOwn, ...env } = process.env;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], {
      cwd: ROOT,
      env,
    });
    const names = JSON.parse(stdout) as string[];
    expect(names).toEqual(
      expect.arrayContaining([
        'SelectionModule',
        'SelectionService',
        'PoolService',
        'RestModule',
        'EligibleMembers',
        'SelectionStrategyProvider',
        'EvenhandError',
      ]),
    );
    expect(existsSync(join(ROOT, manifest.types))).toBe(true);
  });
});

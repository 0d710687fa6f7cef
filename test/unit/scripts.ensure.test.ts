import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
let root: string;

/** A project of one file, with this repository's scripts, and of its packages the compiler: nothing is to be installed. */
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'evenhand-scripts-'));
  for (const name of ['scripts', 'tsconfig.json', 'tsconfig.build.json', 'package.json']) {
    cpSync(join(REPOSITORY, name), join(root, name), { recursive: true });
  }
  writeFileSync(join(root, 'package-lock.json'), '{"packages":{}}');
  mkdirSync(join(root, 'node_modules'));
  for (const name of ['typescript', '@types']) {
    symlinkSync(join(REPOSITORY, 'node_modules', name), join(root, 'node_modules', name));
  }
  mkdirSync(join(root, 'src'));
  write('export const answer: number = 1;');
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const write = (text: string): void => writeFileSync(join(root, 'src', 'only.ts'), text);
const built = (): string => readFileSync(join(root, 'dist', 'only.js'), 'utf8');

function run(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  return { status, stdout, stderr };
}

describe('the build script', () => {
  test('builds once, and again only when a source changed', () => {
    expect(run('scripts/build.mjs')).toEqual({ status: 0, stdout: 'Building ...\n', stderr: '' });
    expect(built()).toContain('answer = 1');
    expect(run('scripts/build.mjs')).toEqual({ status: 0, stdout: '', stderr: '' });
    write('export const answer: number = 2;');
    expect(run('scripts/build.mjs').stdout).toBe('Building ...\n');
    expect(built()).toContain('answer = 2');
  });

  test('keeps the last good build when the sources have errors, and fails', () => {
    expect(run('scripts/build.mjs').status).toBe(0);
    const before = built();
    write("export const answer: number = 'two';");
    const { status, stdout } = run('scripts/build.mjs');
    expect(status).not.toBe(0);
    expect(stdout).toMatch(/src\/only\.ts\(1,14\): error/);
    expect(built()).toBe(before);
    expect(readdirSync(root).filter((name) => name.startsWith('.dist-'))).toEqual([]);
    expect(run('scripts/build.mjs').status).not.toBe(0);
  });
});

describe('a Node', () => {
  const requireNode = (version: string) =>
    run('--input-type=module', '-e', `(await import('./scripts/ensure.mjs')).requireNode('${version}')`);

  test.each(['18.20.8', '20.18.3', '4.9.1'])('of version %s is refused in one line', (version) => {
    const { status, stdout, stderr } = requireNode(version);
    expect(status).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toBe(`Evenhand needs Node 20.19 or newer; this is ${version}. See https://nodejs.org.\n`);
  });

  test.each(['20.19.0', '22.0.0', '100.1.0'])('of version %s will do', (version) => {
    expect(requireNode(version)).toEqual({ status: 0, stdout: '', stderr: '' });
  });
});

test('the lock file names no registry', () => {
  expect(readFileSync(join(REPOSITORY, 'package-lock.json'), 'utf8')).not.toContain('"resolved"');
  expect(existsSync(join(REPOSITORY, '.npmrc'))).toBe(true);
});

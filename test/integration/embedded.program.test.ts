import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { EmbeddedRedisError } from '../../src/redis/embedded/embedded.error.js';
import { isDebianLike } from '../../src/redis/embedded/program.installer.js';
import { findServerProgram, provideServerProgram } from '../../src/redis/embedded/server.program.js';
import { RecordingLogger } from '../support/recording.logger.js';

let temporary: string;
let withValkey: string;
let withRedis: string;

beforeAll(() => {
  temporary = mkdtempSync(join(tmpdir(), 'evenhand-programs-'));
  withValkey = join(temporary, 'valkey');
  withRedis = join(temporary, 'redis');
  for (const directory of [withValkey, withRedis]) mkdirSync(directory);
  symlinkSync(process.execPath, join(withValkey, 'valkey-server'));
  symlinkSync(process.execPath, join(withRedis, 'redis-server'));
});
afterAll(() => rmSync(temporary, { recursive: true, force: true }));

describe('the server program', () => {
  test('is valkey-server where there is no redis-server', () => {
    expect(findServerProgram(`${temporary}::${withValkey}`, [])).toBe(join(withValkey, 'valkey-server'));
    expect(findServerProgram(`${withValkey}:${withRedis}`, [])).toBe(join(withRedis, 'redis-server'));
    expect(findServerProgram(withValkey, [withRedis])).toBe(join(withRedis, 'redis-server'));
  });

  test('is a file that may be run', () => {
    const bin = join(temporary, 'unusable');
    mkdirSync(join(bin, 'valkey-server'), { recursive: true });
    writeFileSync(join(bin, 'redis-server'), '');
    chmodSync(join(bin, 'redis-server'), 0o644);
    expect(findServerProgram(bin, [])).toBeUndefined();
  });

  test('is named by its full path, since the server runs in another directory', () => {
    const path = relative(process.cwd(), withValkey);
    expect(findServerProgram(path, [])).toBe(join(withValkey, 'valkey-server'));
  });

  test('that is missing is asked for in three lines', async () => {
    const find = () => findServerProgram('', []);
    const install = () => Promise.reject(new Error('must not be called'));
    const attempt = provideServerProgram(new RecordingLogger(), find, { canInstall: () => false, install });
    const error = await attempt.catch((failure: unknown) => failure as Error);
    expect(error).toBeInstanceOf(EmbeddedRedisError);
    const lines = (error as Error).message.split('\n');
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(/redis-server nor valkey-server/);
    expect(lines[1]).toMatch(/apt-get install redis-server .*dnf .*brew /);
    expect(lines[2]).toMatch(/REDIS_URL=redis:\/\//);
  });

  test('is installed by root on Debian and its relatives, and looked for again', async () => {
    let path = '';
    const install = async () => void (path = withRedis);
    const installer = { canInstall: () => true, install };
    const found = await provideServerProgram(new RecordingLogger(), () => findServerProgram(path, []), installer);
    expect(found).toBe(join(withRedis, 'redis-server'));
  });

  test.each([
    ['ID=debian\n', true],
    ['NAME="Ubuntu"\nID=ubuntu\nID_LIKE=debian\n', true],
    ["ID='linuxmint'\nID_LIKE='ubuntu debian'\n", true],
    ['ID="raspbian"\nID_LIKE="debian"\n', true],
    ['ID=fedora\n', false],
    ['ID="rocky"\nID_LIKE="rhel centos fedora"\n', false],
    ['ID=alpine\nHOME_URL="https://debian.example.com"\n', false],
    ['', false],
  ])('can be installed where os-release is %j: %s', (osRelease, expected) => {
    expect(isDebianLike(osRelease)).toBe(expected);
  });
});

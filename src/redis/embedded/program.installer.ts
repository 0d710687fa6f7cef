import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { RedisLogger } from '../outage.log.js';
import { EmbeddedRedisError } from './embedded.error.js';

/** Debian's packages ask this script before they start a service; 101 forbids it. */
const POLICY = '/usr/sbin/policy-rc.d';

/** Whether this is root on Debian, Ubuntu or a relative of theirs. */
export function canInstall(): boolean {
  return process.getuid?.() === 0 && isDebianLike(readOsRelease());
}

export function isDebianLike(osRelease: string): boolean {
  const ids = [...osRelease.matchAll(/^ID(?:_LIKE)?=(.*)$/gm)].flatMap((match) =>
    match[1]!.replace(/"/g, '').split(' '),
  );
  return ids.includes('debian') || ids.includes('ubuntu');
}

/** Installs redis-server with apt-get, without letting the packaged service start on its public port. */
export async function installRedisServer(logger: RedisLogger): Promise<void> {
  logger.log('Installing redis-server with apt-get, since none was found; its system service is not started.');
  const isOurs = !existsSync(POLICY);
  if (isOurs) writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    await installOrUpdateFirst();
  } finally {
    if (isOurs) rmSync(POLICY, { force: true });
  }
  // Nor at the next boot; without systemd there is nothing to disable.
  await run('systemctl', ['disable', 'redis-server.service']);
}

async function installOrUpdateFirst(): Promise<void> {
  const install = ['install', '-y', '--no-install-recommends', 'redis-server'];
  if ((await run('apt-get', install)).ok) return;
  const update = await run('apt-get', ['update']);
  const second = await run('apt-get', install);
  if (second.ok) return;
  const output = `${update.ok ? '' : update.output}${second.output}`.trim().split('\n').slice(-10).join('\n  ');
  throw new EmbeddedRedisError(
    `apt-get could not install redis-server:\n  ${output}\nSet REDIS_URL to use another Redis.`,
  );
}

function run(command: string, args: string[]): Promise<{ ok: boolean; output: string }> {
  return new Promise((resolve) => {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
    const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const collect = (data: Buffer): void => void (output = (output + data.toString()).slice(-8_192));
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    child.on('error', (error) => resolve({ ok: false, output: error.message }));
    child.on('close', (code) => resolve({ ok: code === 0, output }));
  });
}

function readOsRelease(): string {
  try {
    return readFileSync('/etc/os-release', 'utf8');
  } catch {
    return '';
  }
}

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { RedisLogger } from '../outage.log.js';
import { EmbeddedRedisError } from './embedded.error.js';

/**
 * Debian's packages ask policy-rc.d before they start a service; 101 forbids it. A shell does it, so that the policy goes
 * again also when this process is interrupted or killed meanwhile.
 */
const INSTALL = `
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  trap 'exit 130' HUP INT TERM
  printf '#!/bin/sh\\nexit 101\\n' >"$policy" && chmod 755 "$policy" || exit 1
fi
install() { apt-get install -y --no-install-recommends redis-server; }
install || { apt-get update; install; }
`;

/** Whether this is root on Debian, Ubuntu or a relative of theirs. */
export function canInstall(): boolean {
  return process.getuid?.() === 0 && isDebianLike(readOsRelease());
}

export function isDebianLike(osRelease: string): boolean {
  const ids = [...osRelease.matchAll(/^ID(?:_LIKE)?=(.*)$/gm)].flatMap(([, value = '']) =>
    value.replace(/["'\r]/g, '').split(' '),
  );
  return ids.includes('debian') || ids.includes('ubuntu');
}

/** Installs redis-server with apt-get, without letting the packaged service start on its public port. */
export async function installRedisServer(logger: RedisLogger): Promise<void> {
  logger.log('Installing redis-server with apt-get, since none was found; its system service is not started.');
  const { ok, output } = await run('/bin/sh', ['-c', INSTALL]);
  if (!ok) {
    const tail = output.trim().split('\n').slice(-10).join('\n  ');
    throw new EmbeddedRedisError(
      `apt-get could not install redis-server:\n  ${tail}\nSet REDIS_URL to use another Redis.`,
    );
  }
  // Nor at the next boot; without systemd there is nothing to disable.
  await run('systemctl', ['disable', 'redis-server.service']);
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

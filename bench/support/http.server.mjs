import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free.port.mjs';

const START_MS = 20_000;
const LOOK_MS = 50;
const MADE_BY_NODE = ['content-length', 'date', 'connection', 'keep-alive'];
/** What Linux counts the time of a process in, for every program. */
const TICKS_A_SECOND = 100;

/**
 * Starts a server in a process of its own, and waits until the path answers a POST.
 *
 * @param toProgram arguments and environment of Node, by the port that the server is to listen on
 */
export async function startServer(path, toProgram) {
  const port = await freePort();
  const { args, env } = toProgram(port);
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  process.once('exit', () => child.kill('SIGKILL'));
  const url = `http://127.0.0.1:${port}${path}`;
  await untilAnswered(url, child);
  return {
    url,
    answer: () => post(url),
    cpuUs: () => cpuMicroseconds(child.pid),
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function untilAnswered(url, child) {
  const deadline = performance.now() + START_MS;
  while (performance.now() < deadline && child.exitCode === null) {
    const answer = await post(url).catch(() => undefined);
    if (answer?.status === 200) return;
    await sleep(LOOK_MS);
  }
  child.kill('SIGKILL');
  throw new Error(`${url} did not answer.`);
}

/** What a POST without a body is answered: its own headers, and all of it, byte for byte as far as it is not a number. */
async function post(url) {
  const sent = request(url, { method: 'POST' }).end();
  const [response] = await once(sent, 'response');
  const body = (await response.setEncoding('utf8').toArray()).join('');
  const raw = Array.from({ length: response.rawHeaders.length / 2 }, (_, n) =>
    response.rawHeaders.slice(n * 2, n * 2 + 2),
  );
  return {
    status: response.statusCode,
    headers: Object.fromEntries(raw.filter(([name]) => !MADE_BY_NODE.includes(name.toLowerCase()))),
    shape: [...raw.map((header) => header.join(': ')), body]
      .join('\n')
      .replace(/Date: .*/, '')
      .replaceAll(/\d+/g, '0'),
  };
}

/** The time that a process has run so far; undefined where there is no /proc. */
function cpuMicroseconds(pid) {
  const file = `/proc/${pid}/stat`;
  if (!existsSync(file)) return undefined;
  // The name in parentheses may hold anything; after it utime and stime are the 12th and 13th fields.
  const fields = readFileSync(file, 'utf8').split(') ').at(-1).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND) * 1_000_000;
}

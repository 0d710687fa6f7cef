import { fileURLToPath } from 'node:url';
import { runTool } from './tool.process.mjs';

const SCRIPT = fileURLToPath(new URL('select.wrk.lua', import.meta.url));

/** Puts a POST route under load by wrk, on one thread of it; what came of it. @throws Error when a request failed */
export async function loadByWrk(url, { connections, seconds }) {
  const printed = await runTool('wrk', ['-t', 1, '-c', connections, '-d', `${seconds}s`, '-s', SCRIPT, url], 'wrk');
  const { requests, durationUs, p50Us, p99Us, failed } = JSON.parse(printed.trim().split('\n').at(-1));
  if (failed > 0) throw new Error(`${failed} of ${requests} requests to ${url} failed.`);
  return { requests, usPerRequest: durationUs / requests, p50Us, p99Us };
}

import { readFileSync } from 'node:fs';

const IDLE = ['(idle)', '(root)'];

/**
 * The functions of a .cpuprofile (the format of the Chrome DevTools Protocol, Profiler.Profile) in which most time was spent,
 * callees aside, with their share of all time in which the process was not idle.
 */
export function readSelfTimes(file, most = 25) {
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(file, 'utf8'));
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const times = new Map();
  samples.forEach((id, n) => {
    const name = names.get(id);
    if (!IDLE.includes(name)) times.set(name, (times.get(name) ?? 0) + timeDeltas[n]);
  });
  const busyUs = [...times.values()].reduce((sum, us) => sum + us, 0);
  return [...times]
    .sort(([, a], [, b]) => b - a)
    .slice(0, most)
    .map(([name, us]) => ({ function: name, 'self ms': us / 1_000, '% of busy': (us / busyUs) * 100 }));
}

/** For instance `parse node_modules/redis-parser/lib/parser.js:545`. */
function nameOf({ functionName, url, lineNumber }) {
  const root = new URL('../..', import.meta.url).href;
  const name = functionName === '' ? '(anonymous)' : functionName;
  return url === '' ? name : `${name} ${url.replace(root, '')}:${lineNumber + 1}`;
}

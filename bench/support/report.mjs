import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { dirname } from 'node:path';
import { describe } from './checks.mjs';

/** What the figures were measured on. */
export function describeMachine() {
  const [{ model }] = cpus();
  const redis = /v=(\S+)/.exec(spawnSync('redis-server', ['--version'], { encoding: 'utf8' }).stdout ?? '')?.[1];
  return { when: new Date().toISOString(), node: process.version, redis, cpu: { model, count: cpus().length } };
}

/** One, five and fifteen minutes. */
export const loadAverage = () => loadavg().map((load) => Math.round(load * 100) / 100);

export function writeResult(file, result) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`);
}

/** All that the scenarios require, as one table. */
export function requiredTable(scenarios) {
  const rows = Object.entries(scenarios).flatMap(([scenario, { checks, failed }]) => [
    ...checks.map((check) => ({ scenario, what: check.what, value: check.value, required: describe(check) })),
    ...(failed ? [{ scenario, what: 'came to its end', required: 'MISSED' }] : []),
  ]);
  return { title: 'required', rows };
}

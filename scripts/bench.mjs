// npm run bench: install what is missing, build if the sources changed, measure; ends with 1 where a requirement is missed.
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { isMet } from '../bench/support/checks.mjs';
import { readSelfTimes } from '../bench/support/profile.reader.mjs';
import { describeMachine, loadAverage, requiredTable, writeResult } from '../bench/support/report.mjs';
import { runScenario } from '../bench/support/scenario.process.mjs';
import { printTable } from '../bench/support/table.mjs';
import { ensureBuilt, ensureInstalled, ROOT } from './ensure.mjs';

const USAGE = `npm run bench -- [scenario ...] [options]

  --list         name the scenarios
  --rounds N     rounds of each, instead of its own number: fewer for a quick look
  --json FILE    where the result goes (bench/results/latest.json)
  --profile      write CPU profiles into bench/results, and name the functions that take most time
  --no-build     measure dist as it is`;
const RESULTS = join(ROOT, 'bench', 'results');
const known = readdirSync(join(ROOT, 'bench', 'scenarios'))
  .filter((file) => file.endsWith('.mjs'))
  .map((file) => basename(file, '.mjs'))
  .sort();

const { asked, options } = readArguments();
if (options.help) console.log(USAGE);
else await main();

async function main() {
  ensureInstalled();
  if (options.build) ensureBuilt();
  if (options.list) return list();

  const result = { ...describeMachine(), rounds: options.rounds ?? 'usual', loadBefore: loadAverage(), scenarios: {} };
  for (const name of asked.length > 0 ? asked : known) {
    console.log(`\n== ${name}: ${await titleOf(name)}`);
    result.scenarios[name] = { title: await titleOf(name), ...(await measure(name)) };
  }
  result.loadAfter = loadAverage();
  const file = options.json ?? join(RESULTS, 'latest.json');
  writeResult(file, result);
  printTable(requiredTable(result.scenarios));
  console.log(`\nAll figures: ${file}`);
  const missed = Object.values(result.scenarios).some(({ failed, checks }) => failed || !checks.every(isMet));
  process.exitCode = missed ? 1 : 0;
}

async function measure(name) {
  if (!options.profile) return runScenario(name, { rounds: options.rounds });
  const profileDir = join(RESULTS, `${name}.profile`);
  rmSync(profileDir, { recursive: true, force: true });
  mkdirSync(profileDir, { recursive: true });
  const found = await runScenario(name, { rounds: options.rounds, profileDir });
  for (const file of readdirSync(profileDir)) {
    printTable({ title: `${file}: where the time went`, rows: readSelfTimes(join(profileDir, file)) });
  }
  return found;
}

async function list() {
  const rows = await Promise.all(known.map(async (scenario) => ({ scenario, measures: await titleOf(scenario) })));
  printTable({ title: 'scenarios', rows });
}

async function titleOf(name) {
  return (await import(`../bench/scenarios/${name}.mjs`)).title;
}

function readArguments() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      allowNegative: true,
      options: {
        list: { type: 'boolean' },
        rounds: { type: 'string' },
        json: { type: 'string' },
        profile: { type: 'boolean' },
        build: { type: 'boolean', default: true },
        help: { type: 'boolean' },
      },
    });
    const unknown = positionals.filter((name) => !known.includes(name));
    if (unknown.length > 0)
      throw new Error(`There is no scenario ${unknown.join(', ')}; there are ${known.join(', ')}.`);
    return { asked: positionals, options: { ...values, rounds: readRounds(values.rounds) } };
  } catch (error) {
    console.error(`${error.message}\n\n${USAGE}`);
    process.exit(1);
  }
}

function readRounds(text) {
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,2}$/.test(text)) return Number(text);
  throw new Error('--rounds takes a whole number from 1 to 999.');
}

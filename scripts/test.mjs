// npm test: install what is missing (a Redis too, as root on Debian), check types, lint, build, run every test.
// npm test -- <jest arguments>: build and run only jest, with these arguments.
import { join } from 'node:path';
import { ensureBuilt, ensureInstalled, runOrExit } from './ensure.mjs';

const jestArguments = process.argv.slice(2);

step('install', ensureInstalled);
if (jestArguments.length === 0) {
  step('type-check', () => runProgram('typescript/bin/tsc', ['--noEmit']));
  step('lint', () => runProgram('eslint/bin/eslint.js', ['.', '--max-warnings', '0']));
}
step('build', ensureBuilt);
await requireRedis();
step('tests', () => runProgram('jest/bin/jest.js', jestArguments, ['--experimental-vm-modules', '--no-warnings']));

function step(name, run) {
  const startedAt = performance.now();
  console.log(`\n== ${name}`);
  run();
  console.log(`== ${name}: done in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
}

/** Tests start servers of their own; without the program each of them would fail for itself. */
async function requireRedis() {
  const { provideServerProgram } = await import('../dist/redis/embedded/server.program.js');
  try {
    await provideServerProgram(console);
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}

function runProgram(path, args, nodeArguments = []) {
  runOrExit(process.execPath, [...nodeArguments, join('node_modules', path), ...args]);
}

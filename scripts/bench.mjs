// npm run bench: install what is missing, build if the sources changed, run every benchmark, one after the other.
// npm run bench -- <names>: run only these.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBuilt, ensureInstalled, ROOT, runOrExit } from './ensure.mjs';

const known = readdirSync(join(ROOT, 'bench'))
  .filter((file) => file.endsWith('.mjs'))
  .map((file) => file.slice(0, -'.mjs'.length))
  .sort();
const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  console.error(`There is no benchmark ${unknown.join(', ')}; there are ${known.join(', ')}.`);
  process.exit(1);
}

ensureInstalled();
ensureBuilt();
for (const name of asked.length > 0 ? asked : known) runOrExit(process.execPath, [join('bench', `${name}.mjs`)]);

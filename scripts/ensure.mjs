import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository's root; every command runs there. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url));

const OLDEST_NODE = [20, 19];
const INSTALL_STAMP = join(ROOT, 'node_modules', '.evenhand-installed');
const BUILD_STAMP = '.built-from';
const DIST = join(ROOT, 'dist');

/** Ends the process with a clear message on a Node that is too old. */
export function requireNode(version = process.versions.node) {
  const [major, minor] = version.split('.').map(Number);
  if (major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1])) return;
  console.error(`Evenhand needs Node ${OLDEST_NODE.join('.')} or newer; this is ${version}. See https://nodejs.org.`);
  process.exit(1);
}

/** Installs the dependencies, those for development too, unless they are those of the lock file already. */
export function ensureInstalled() {
  requireNode();
  const wanted = `${hashOf(['package-lock.json'])} node ${process.versions.node.split('.')[0]}\n`;
  // Without a stamp somebody ran npm by hand, which will do.
  const installed = readUnlessGone(INSTALL_STAMP) ?? wanted;
  if (installed === wanted && hasAllPackages()) return;
  console.log('Installing dependencies (npm ci) ...');
  runOrExit('npm', ['ci', '--include=dev', '--no-audit', '--no-fund'], { shell: process.platform === 'win32' });
  writeFileSync(INSTALL_STAMP, wanted);
}

/** Whether npm installed all that the lock file lists; what does not fit this machine is optional. */
function hasAllPackages() {
  const found = JSON.parse(readUnlessGone(join(ROOT, 'node_modules', '.package-lock.json')) ?? '{}').packages ?? {};
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  return Object.entries(packages).every(
    ([path, { version, optional }]) => path === '' || optional || found[path]?.version === version,
  );
}

/** Builds `dist` unless it was built from the same sources. */
export function ensureBuilt() {
  const sources = [...filesUnder('src'), 'tsconfig.json', 'tsconfig.build.json', 'package-lock.json'];
  const wanted = hashOf(sources);
  if (readUnlessGone(join(DIST, BUILD_STAMP)) === wanted) return;
  console.log('Building ...');
  const fresh = mkdtempSync(join(ROOT, '.dist-'));
  try {
    const compiler = join('node_modules', 'typescript', 'bin', 'tsc');
    runOrExit(process.execPath, [compiler, '-p', 'tsconfig.build.json', '--outDir', fresh], {}, () => discard(fresh));
    writeFileSync(join(fresh, BUILD_STAMP), wanted);
    chmodSync(fresh, 0o755);
    replaceDist(fresh, wanted);
  } finally {
    discard(fresh);
  }
}

/** Puts a finished build in place. Of two that build at once the later one wins, or finds the same build there. */
function replaceDist(fresh, wanted) {
  const old = `${fresh}-old`;
  for (let attempt = 1; ; attempt += 1) {
    try {
      if (readUnlessGone(join(DIST, BUILD_STAMP)) === wanted) return;
      if (existsSync(DIST)) renameSync(DIST, old);
      renameSync(fresh, DIST);
      return;
    } catch (error) {
      if (attempt === 5) throw error;
    } finally {
      discard(old);
    }
  }
}

function discard(path) {
  rmSync(path, { recursive: true, force: true });
}

/** Runs a command in the repository's root with its output shown; ends the process when it fails. */
export function runOrExit(command, args, options = {}, beforeExit = () => {}) {
  const { status, error } = spawnSync(command, args, { cwd: ROOT, stdio: 'inherit', ...options });
  if (status === 0) return;
  beforeExit();
  console.error(`${command} ${args.join(' ')} failed${error ? `: ${error.message}` : ''}`);
  process.exit(status ?? 1);
}

function filesUnder(directory) {
  const entries = readdirSync(join(ROOT, directory), { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return files.map((file) => file.slice(ROOT.length)).sort();
}

function hashOf(files) {
  const hash = createHash('sha256');
  for (const file of files)
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(ROOT, file)))
      .update('\0');
  return hash.digest('hex');
}

function readUnlessGone(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

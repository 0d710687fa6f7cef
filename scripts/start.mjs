// npm start: install what is missing, build if the sources changed, serve.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBuilt, ensureInstalled, ROOT } from './ensure.mjs';

ensureInstalled();
ensureBuilt();

// What the environment sets already wins.
const settings = join(ROOT, '.env');
if (existsSync(settings)) process.loadEnvFile(settings);

// In this very process, so that signals reach the service.
await import('../dist/main.js');

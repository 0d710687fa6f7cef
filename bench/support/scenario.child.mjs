// What scenario.process.mjs starts: runs one scenario against a Redis of its own, prints its tables, and tells its parent what
// was found.
import { startRedis } from './redis.process.mjs';
import { profileArgsIn } from './profile.args.mjs';
import { startHost } from './selection.host.mjs';
import { printTable } from './table.mjs';
import { ToolMissingError } from './tool.process.mjs';

const [name, given] = process.argv.slice(2);
const { rounds, profileDir } = JSON.parse(given);
const { run } = await import(`../scenarios/${name}.mjs`);

const redis = await startRedis();
const host = await startHost(redis.url);
try {
  const found = await run({
    redis,
    host,
    /** How many rounds to make where a scenario usually makes so many. */
    rounds: (usual) => rounds ?? usual,
    /** What Node is told when a process that has this part in the scenario is started. */
    profileArgs: (part) => profileArgsIn(profileDir, `${name}.${part}`),
  });
  found.tables.forEach(printTable);
  await new Promise((resolve) => process.send(found, resolve));
} catch (error) {
  if (!(error instanceof ToolMissingError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
} finally {
  await host.close();
  await redis.stop();
}
process.exit();

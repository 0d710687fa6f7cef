// A service reduced to its Redis: what redis.service.ts starts as a process of its own. Runs the built code.
// Arguments: the data directory. Takes {id, command} and {stop: true} by message; SIGINT ends it after one last command.
import { RedisConnector } from '../../dist/redis/redis.connector.js';

const [dataDir] = process.argv.slice(2);
const write = (line) => console.log(line);
const connector = new RedisConnector(
  { connection: { embedded: { dataDir } }, keyPrefix: 'evenhand', commandTimeoutMs: 500 },
  { log: write, warn: write, error: write },
);

try {
  const client = await connector.connect();
  process.on('message', async ({ id, command, stop }) => {
    if (stop) return end();
    const [name, ...args] = command;
    await client.call(name, ...args).then(
      (result) => process.send({ id, result }),
      (error) => process.send({ id, error: error.message }),
    );
  });
  process.once('SIGINT', async () => {
    await client.incr('last-words');
    await end();
  });
  process.send({ ready: true });
} catch (error) {
  process.send({ failed: `${error.name}: ${error.message}` }, () => process.disconnect());
}

/** Nothing but the connector may keep the process alive or end it. */
async function end() {
  await connector.close();
  process.disconnect();
}

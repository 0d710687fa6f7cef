import { loadScript } from '../../dist/redis/script.loader.js';
import { KeyNames } from '../../dist/selection/key.names.js';

const STRATEGY = 'least-assigned';

/** The script that one selection runs, for a client that is bare: `call` sends it, `command` is what a tool would send. */
export async function selectScript(client, pool) {
  const sha = await client.script('LOAD', loadScript(`${STRATEGY}/select.lua`));
  const names = new KeyNames('evenhand');
  const { members, assigned, views } = names.pool(pool);
  const keys = [...names.index(pool, STRATEGY, ['counts']), members, assigned, views];
  return {
    call: () => client.evalsha(sha, keys.length, ...keys, 1),
    command: ['EVALSHA', sha, keys.length, ...keys, 1].map(String),
  };
}

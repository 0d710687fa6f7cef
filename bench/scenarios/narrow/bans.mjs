import { KeyNames } from '../../../dist/selection/key.names.js';

const UNTIL_MS = 3_600_000;
const AT_ONCE = 1_000;

/** Bans members for a target, as outcomes do, in few calls. */
export async function ban(client, pool, target, ids) {
  const [bans] = new KeyNames('evenhand').target(pool, target);
  const until = Date.now() + UNTIL_MS;
  for (let at = 0; at < ids.length; at += AT_ONCE)
    await client.zadd(bans, ...ids.slice(at, at + AT_ONCE).flatMap((id) => [until, id]));
  await client.pexpire(bans, UNTIL_MS * 2);
}

/** The ids of all members of a pool, in their order. */
export function idsOf(client, pool) {
  return client.zrange(new KeyNames('evenhand').pool(pool).eligible, 0, -1);
}

export async function usedMemory(client) {
  return Number(/used_memory:(\d+)/.exec(await client.info('memory'))[1]);
}

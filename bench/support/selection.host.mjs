import { NestFactory } from '@nestjs/core';
import { PoolService, SelectionModule, SelectionService } from '../../dist/index.js';
import { REDIS_CLIENT } from '../../dist/redis/redis.tokens.js';

/** A Nest application with the SelectionModule and nothing else, as a host has it, from the built code. */
export async function startHost(url) {
  const module = SelectionModule.forRoot({ redis: { connection: { url } } });
  const app = await NestFactory.createApplicationContext(module, { logger: ['error'] });
  return {
    pools: app.get(PoolService),
    selection: app.get(SelectionService),
    /** The connection that the module has opened for itself. */
    client: app.get(REDIS_CLIENT),
    close: () => app.close(),
  };
}

/** So many addresses of documentation as a proxy list, one a line; all different up to 7 million. */
export function proxyList(count) {
  const blocks = ['192.0.2', '198.51.100', '203.0.113'];
  const address = (n) => `${blocks[n % 3]}.${1 + (Math.floor(n / 3) % 254)}:${1_024 + Math.floor(n / 762)}`;
  return Array.from({ length: count }, (_, n) => address(n)).join('\n');
}

/** Makes a pool of so many members, whatever was there before, and with these settings. */
export async function fillPool({ pools }, name, count, settings) {
  await pools.put(name, settings);
  const { total } = await pools.importMembers(name, { format: 'text', body: proxyList(count) }, { mode: 'replace' });
  if (total !== count) throw new Error(`The pool "${name}" has ${total} members, not ${count}.`);
}

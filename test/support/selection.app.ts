import type { INestApplicationContext, Provider } from '@nestjs/common';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { PoolService } from '../../src/pool/pool.service.js';
import { SelectionModule } from '../../src/selection/selection.module.js';
import { SelectionService } from '../../src/selection/selection.service.js';

export interface SelectionApp {
  context: INestApplicationContext;
  pools: PoolService;
  selection: SelectionService;
  close(): Promise<void>;
}

/** A Nest application with the SelectionModule and nothing else: no HTTP. */
export async function startSelection(url: string, providers: Provider[] = []): Promise<SelectionApp> {
  @Module({ imports: [SelectionModule.forRoot({ redis: { connection: { url } } })], providers })
  class Host {}

  const context = await NestFactory.createApplicationContext(Host, { logger: false, abortOnError: false });
  return {
    context,
    pools: context.get(PoolService),
    selection: context.get(SelectionService),
    close: () => context.close(),
  };
}

/** Members with such ids, put into a pool that is made if need be. */
export async function givePool(
  { pools }: SelectionApp,
  name: string,
  members: readonly (string | { id: string; weight?: number; labels?: Record<string, string> })[],
  settings: Parameters<PoolService['put']>[1] = {},
): Promise<void> {
  await pools.put(name, settings);
  await importMembers({ pools }, name, members);
}

export async function importMembers(
  { pools }: Pick<SelectionApp, 'pools'>,
  name: string,
  members: readonly (string | { id: string; value?: string; weight?: number; labels?: Record<string, string> })[],
  options: Parameters<PoolService['importMembers']>[2] = {},
) {
  const list = members.map((member) => (typeof member === 'string' ? { id: member } : member));
  return pools.importMembers(name, { format: 'json', body: JSON.stringify({ members: list }) }, options);
}

/** How often each member is selected in so many selections, one after the other. */
export async function tally({ selection }: SelectionApp, pool: string, times: number): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (let n = 0; n < times; n++) {
    const id = (await selection.select(pool)).selection?.member.id ?? 'nobody';
    counts[id] = (counts[id] ?? 0) + 1;
  }
  return counts;
}

import type { INestApplicationContext } from '@nestjs/common';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DispatchEvents } from '../../src/dispatch/dispatch.events.js';
import { DispatchModule } from '../../src/dispatch/dispatch.module.js';
import { DispatchService } from '../../src/dispatch/dispatch.service.js';
import type { QueueView } from '../../src/dispatch/queue.view.js';
import type { JobView } from '../../src/dispatch/job.types.js';
import type { QueueChanges } from '../../src/dispatch/queue.settings.js';
import { PoolService } from '../../src/pool/pool.service.js';
import type { RedisConnection } from '../../src/redis/redis.options.js';
import { SelectionModule } from '../../src/selection/selection.module.js';
import { SelectionService } from '../../src/selection/selection.service.js';
import { FleetLauncher } from './fleet.launcher.js';
import { importMembers } from './selection.app.js';
import { waitUntil } from './wait.until.js';

/** A host application with queues, and nodes of its own. */
export interface DispatchApp {
  context: INestApplicationContext;
  pools: PoolService;
  selection: SelectionService;
  dispatch: DispatchService;
  events: DispatchEvents;
  fleet: FleetLauncher;
  close(): Promise<void>;
}

/**
 * @param redis a URL, or any other way to reach one
 * @param fleet nodes that several applications share
 * @param options `lacksLauncher`: the application does not know how to reach them
 */
export async function startDispatch(
  redis: string | RedisConnection,
  fleet = new FleetLauncher(),
  { lacksLauncher = false, takeoverMs = 1_000 } = {},
): Promise<DispatchApp> {
  const connection = typeof redis === 'string' ? { url: redis } : redis;
  const selection = SelectionModule.forRoot({ redis: { connection } });
  @Module({
    imports: [selection, DispatchModule.forRoot(selection, { takeoverMs })],
    providers: lacksLauncher ? [] : [{ provide: FleetLauncher, useValue: fleet }],
  })
  class Host {}

  const context = await NestFactory.createApplicationContext(Host, { logger: ['error'], abortOnError: false });
  return {
    context,
    pools: context.get(PoolService),
    selection: context.get(SelectionService),
    dispatch: context.get(DispatchService),
    events: context.get(DispatchEvents),
    fleet,
    close: () => context.close(),
  };
}

/** A pool of nodes and a queue on it, quick enough for tests. */
export async function giveQueue(
  app: Pick<DispatchApp, 'pools' | 'dispatch'>,
  {
    nodes = ['node-1'],
    capacity = null,
    ...changes
  }: QueueChanges & { nodes?: string[]; capacity?: number | null } = {},
): Promise<QueueView> {
  await app.pools.put('nodes', { strategy: 'least-concurrency', capacity });
  await importMembers(app, 'nodes', nodes);
  const settings = {
    pool: 'nodes',
    limit: 4,
    launcher: { type: 'fleet' },
    pollMs: 100,
    leaseTtlMs: 5_000,
    retry: { backoffMs: 100 },
  };
  return (await app.dispatch.put('crawls', { ...settings, ...changes })).queue;
}

/** So many jobs, told apart by `n`. */
export function jobs(count: number): { payload: { n: number } }[] {
  return Array.from({ length: count }, (_, n) => ({ payload: { n } }));
}

export async function untilQueue(
  { dispatch }: Pick<DispatchApp, 'dispatch'>,
  what: string,
  isSo: (queue: QueueView) => boolean,
  deadlineMs = 15_000,
): Promise<QueueView> {
  let last: QueueView | undefined;
  await waitUntil(
    async () => {
      last = await dispatch.get('crawls');
      return isSo(last);
    },
    { what, deadlineMs },
  );
  return last as QueueView;
}

export async function untilJob(
  { dispatch }: Pick<DispatchApp, 'dispatch'>,
  id: string,
  isSo: (job: JobView) => boolean,
  deadlineMs = 15_000,
): Promise<JobView> {
  let last: JobView | undefined;
  await waitUntil(
    async () => {
      last = await dispatch.getJob('crawls', id);
      return isSo(last);
    },
    { what: `job ${id} to be as expected`, deadlineMs },
  );
  return last as JobView;
}

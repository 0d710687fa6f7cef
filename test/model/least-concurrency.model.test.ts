import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { OutcomeService } from '../../src/eligibility/health/outcome.service.js';
import { RedisUnavailableError } from '../../src/errors/domain.errors.js';
import { PoolService } from '../../src/pool/pool.service.js';
import { LeaseService } from '../../src/selection/leases/lease.service.js';
import { SelectionModule } from '../../src/selection/selection.module.js';
import { SelectionService } from '../../src/selection/selection.service.js';
import { type RedisServer, startRedis } from '../support/redis.server.js';
import { TcpProxy } from '../support/tcp.proxy.js';
import { LeaseModel } from './lease.model.js';
import type { Real } from './lease.step.js';
import { steps } from './lease.steps.js';

/**
 * Random operations on a real Redis, against the plain model. Each of these lines, taken out or turned round, made it fail
 * (with MODEL_RUNS=250 where two steps must meet):
 *
 *   settle.lua        settle: `if redis.call('ZREM', …) == 0 then return false end`, which makes settling happen once
 *                     settleMany: `if live[n] and`, the same for many; `lowered[id] or`, two leases of one member
 *                     settle: `lower(…)`; lower: the look at the weight; `ZREM full` of a member that has room again
 *                     forgetNotes: the requestId that is remembered
 *   lend.lua          pickMember: `inFlight < capacity`; isAtLimit; `sequence + 1`; nextFence: `math.max`
 *   row.lua           the capacity, the limit, the order of a row, and `sequence + 1`
 *   acquire.lua       the lease that a repeat finds
 *   settle.lua, extend.lua of the strategy: the expiry; the extension that would bring it forward
 *   leased-index.lua  leave: `away`; enter: `oldWeight`
 *   tick.lua          `reseatSome`
 *
 * Taking a member that has become full out of `ready` at once only saves time: whoever picks it next does so as well.
 */

const RUNS = Number(process.env['MODEL_RUNS'] ?? 150);

let server: RedisServer;
let proxy: TcpProxy;
let direct: Awaited<ReturnType<typeof open>>;
let lossy: Awaited<ReturnType<typeof open>>;

function open(url: string, commandTimeoutMs: number) {
  @Module({ imports: [SelectionModule.forRoot({ redis: { connection: { url }, commandTimeoutMs } })] })
  class Host {}
  return NestFactory.createApplicationContext(Host, { logger: false, abortOnError: false });
}

beforeAll(async () => {
  server = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
  proxy = await TcpProxy.start(server.port);
  direct = await open(server.url, 2_000);
  lossy = await open(proxy.url, 500);
});
afterAll(async () => {
  await direct.close();
  await lossy.close();
  await proxy.stop();
  await server.stop();
});

test('whatever happens, in-flight is the number of live leases, and nothing is above its capacity or limit', async () => {
  let runs = 0;
  const property = fc.asyncProperty(fc.commands(steps, { maxCommands: 60, size: 'max' }), async (commands) => {
    const real: Real = {
      ...{ pool: `run-${runs++}`, server, proxy, redis: server.client() },
      ...{ pools: direct.get(PoolService), selection: direct.get(SelectionService), leases: direct.get(LeaseService) },
      outcomes: direct.get(OutcomeService),
      lossy: lossy.get(SelectionService),
    };
    await real.pools.put(real.pool, { strategy: 'least-concurrency' });
    // What is lost is then never the look at the pool's settings.
    await lossy.get(PoolService).get(real.pool);
    const model = new LeaseModel();
    await fc.asyncModelRun(() => ({ model, real }), commands);
    await endAll(model, real);
    real.redis.disconnect();
  });
  await fc.assert(property, { numRuns: RUNS, endOnFailure: false });
}, 240_000);

/** When all leases have ended nothing is counted any more. */
async function endAll(model: LeaseModel, { pool, leases, pools, redis }: Real): Promise<void> {
  for (const id of model.live.keys()) await leases.force(pool, id).catch(unlessAway);
  const { members } = await pools.listMembers(pool, { limit: 1_000 });
  for (const { inFlight } of members) expect(inFlight).toBe(0);
  expect((await pools.get(pool)).inFlight).toBe(0);
  expect(await redis.exists(`evenhand:{${pool}}:least-concurrency:away`, `evenhand:{${pool}}:notes`)).toBe(0);
}

/** A lease that has ended is as well; a Redis that is late must not look like a lease that stays. */
function unlessAway(error: unknown): void {
  if (error instanceof RedisUnavailableError) throw error;
}

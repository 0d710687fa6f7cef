import { afterAll, beforeAll, test } from '@jest/globals';
import fc from 'fast-check';
import { type RedisServer, startRedis } from '../support/redis.server.js';
import { DispatchTrial, type Fault, MOST, type Move, NODES } from './dispatch.trial.js';

/**
 * Random moves of users, operators, nodes and processes, on a real Redis: after each one the books of the queue must balance. Each of
 * these lines, taken out or turned round, made it fail (with MODEL_RUNS=30):
 *
 *   dispatch-job.lua    `SREM cancels`; the count at the node that a job leaves
 *   cancel-job.lua      `ZREM retries`
 *   cancel-request.lua  `ZREM line`; `waiting > 0`
 *   claim.lua           the jobs that were cancelled while they were the next
 *   step.lua            that one which is not wanted does not wait again
 */

const RUNS = Number(process.env['MODEL_RUNS'] ?? 12);

const at = fc.integer({ min: 0, max: 99 }).map((percent) => percent / 100);
const kind = <Kind extends Move['kind']>(...kinds: Kind[]) => fc.constantFrom(...kinds);
const fault = fc.constantFrom<Fault>('job', 'node', 'call lost', 'answer lost', null, null);
const how = fc.constantFrom<'finished' | 'failed' | 'unknown'>('finished', 'finished', 'failed', 'unknown');
const submit = fc.record({ kind: kind('submit'), count: fc.integer({ min: 1, max: 6 }), priority: fc.nat(2) });
const move = fc.oneof<fc.WeightedArbitrary<Move>[]>(
  { weight: 5, arbitrary: submit },
  { weight: 5, arbitrary: fc.record({ kind: kind('cancel job', 'cancel request', 'repeat'), at }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('pause', 'resume', 'resume', 'restart') }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('delete'), force: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('limit'), limit: fc.integer({ min: 1, max: MOST }) }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('fault'), node: fc.constantFrom(...NODES), fault }) },
  { weight: 5, arbitrary: fc.record({ kind: kind('end'), at, how }) },
  { weight: 5, arbitrary: fc.record({ kind: kind('pass') }) },
);

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test('whatever happens, the counts of a queue are those of its jobs, no more are live than may, and each job ends once', async () => {
  const redis = server.client();
  const property = fc.asyncProperty(fc.array(move, { minLength: 20, maxLength: 50 }), async (moves) => {
    const trial = await DispatchTrial.start(redis, server.url);
    try {
      for (const each of moves) await trial.make(each);
      await trial.finish();
    } finally {
      await trial.stop();
    }
  });
  await fc.assert(property, { numRuns: RUNS, endOnFailure: true });
}, 1_000_000);

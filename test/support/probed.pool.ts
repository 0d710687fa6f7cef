import type { Redis } from 'ioredis';
import type { PoolChanges } from '../../src/pool/pool.settings.js';
import type { WithdrawalReason } from '../../src/pool/member.js';
import { type SelectionApp, importMembers } from './selection.app.js';
import { waitUntil } from './wait.until.js';

type ProbeChanges = NonNullable<PoolChanges['probe']>;

/** A pool `shop` whose members are candidates until a probe has found them to work; its members are probed at once. */
export async function giveProbedPool(
  app: SelectionApp,
  probe: ProbeChanges,
  members: Parameters<typeof importMembers>[2],
): Promise<void> {
  await app.pools.put('shop', { candidates: 'probe', probe });
  await importMembers(app, 'shop', members);
}

/** What was said of a member by its last probe; nothing where it passed. */
export async function evidenceOf(redis: Redis, id: string): Promise<string> {
  const facts = await redis.hget('evenhand:{shop}:facts', id);
  return facts?.split('\n')[2] ?? '';
}

export interface ProbedMember {
  reason: WithdrawalReason | null;
  evidence: string;
}

/** What became of a member. */
export async function probedMember({ pools }: SelectionApp, redis: Redis, id: string): Promise<ProbedMember> {
  const { reason } = await pools.getMember('shop', id);
  return { reason, evidence: await evidenceOf(redis, id) };
}

/** Waits until the pool has no candidates, and no probe runs. */
export async function allProbed({ pools }: SelectionApp, redis: Redis, deadlineMs = 30_000): Promise<void> {
  await waitUntil(
    async () => {
      const candidates = await redis.hget('evenhand:{shop}:reasons', 'candidate');
      const { members, probes } = await pools.get('shop');
      return candidates === null && probes.running === 0 && members.total > 0;
    },
    { what: 'every candidate to be probed', deadlineMs },
  );
}

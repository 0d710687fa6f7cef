import type { Redis } from 'ioredis';
import { KeyNames } from '../../src/selection/key.names.js';
import { readLeaseName } from '../../src/selection/leases/lease.name.js';

const LEVEL = 2 ** 33;
const STRIDE = 100;
export const POOL = 'shop';
const names = new KeyNames('evenhand');
export const keys = names.pool(POOL);
const [ready, full] = names.index(POOL, 'least-concurrency', ['ready', 'full']);

/** A member of the test; the first of the ids is in DE, the second in FR, and so on in turn. */
export interface LentMember {
  id: string;
  weight: number;
  capacity: number;
  labels: { country: string };
}

export interface LentWish {
  labels?: { country: string };
  exclude?: string[];
  target?: string;
}

/** Who is right by all that Redis holds, looked at one by one: for a pool with least-concurrency whose members the test knows. */
export class LentPool {
  private constructor(
    private readonly open: { member: LentMember; inFlight: number; tie: number }[],
    private sequence: number,
  ) {}

  /** What has expired counts as ended: whoever picks settles it first. */
  static async read(redis: Redis, members: readonly LentMember[], wish: LentWish): Promise<LentPool> {
    const scores = { ...(await scoresOf(redis, ready!)), ...(await scoresOf(redis, full!)) };
    const nowMs = Date.now();
    const leases = Object.entries(await scoresOf(redis, keys.leases)).filter(([, untilMs]) => untilMs > nowMs);
    const holders = leases.map(([lease]) => readLeaseName(lease).memberId);
    const bans = wish.target === undefined ? {} : await scoresOf(redis, names.target(POOL, wish.target)[0]);
    const isFit = ({ id, labels }: LentMember) =>
      scores[id] !== undefined &&
      (wish.labels === undefined || wish.labels.country === labels.country) &&
      !wish.exclude?.includes(id) &&
      (bans[id] ?? 0) <= nowMs;
    const open = members.filter(isFit).map((member) => ({
      member,
      inFlight: holders.filter((id) => id === member.id).length,
      tie: (scores[member.id] ?? 0) % LEVEL,
    }));
    return new LentPool(open, Number(await redis.hget(keys.settings, 'sequence')));
  }

  /** The member to be picked next, which counts as lent then; or null. */
  pick(): string | null {
    const score = ({ member, inFlight, tie }: (typeof this.open)[number]) =>
      Math.floor((inFlight * STRIDE) / member.weight) * LEVEL + tie;
    const withRoom = this.open.filter(({ member, inFlight }) => inFlight < member.capacity);
    const [best] = withRoom.sort((a, b) => score(a) - score(b) || (a.member.id < b.member.id ? -1 : 1));
    if (!best) return null;
    best.inFlight++;
    best.tie = ++this.sequence * 2 + (best.member.weight === 1 ? 0 : 1);
    return best.member.id;
  }

  /** Why there is nobody, where somebody is eligible. */
  get reason(): 'AT_CAPACITY' | 'NO_MATCH' {
    return this.open.length > 0 ? 'AT_CAPACITY' : 'NO_MATCH';
  }
}

/** The sorted set of who is banned for a target. */
export function bansOf(target: string): string {
  return names.target(POOL, target)[0];
}

async function scoresOf(redis: Redis, key: string): Promise<Record<string, number>> {
  const flat = await redis.zrange(key, '0', '-1', 'WITHSCORES');
  return Object.fromEntries(flat.flatMap((id, n) => (n % 2 === 0 ? [[id, Number(flat[n + 1])]] : [])));
}

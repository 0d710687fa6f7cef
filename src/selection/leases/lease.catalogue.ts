import { Inject, Injectable } from '@nestjs/common';
import { LeaseNotFoundError } from '../../errors/domain.errors.js';
import { parseInput } from '../../errors/parse.input.js';
import { type Page, type PageRequest, pageOf, pageRequestSchema, readCursor } from '../../pool/page.js';
import { redisCall } from '../../redis/redis.call.js';
import type { RedisClient } from '../../redis/redis.client.js';
import { REDIS_CLIENT } from '../../redis/redis.tokens.js';
import { serverTimeMs } from '../../redis/server.time.js';
import type { PoolConfig } from '../strategies/selection.strategy.js';
import { type LeaseName, leaseIdOf, readLeaseId, readLeaseName } from './lease.name.js';
import type { LeaseView } from './lease.types.js';

interface LiveLease {
  name: string;
  expiresMs: number;
}

/** Shows live leases. */
@Injectable()
export class LeaseCatalogue {
  constructor(@Inject(REDIS_CLIENT) private readonly redis: RedisClient) {}

  /** In the order in which they expire. */
  async list(pool: PoolConfig, request: PageRequest = {}): Promise<Page<'leases', LeaseView>> {
    const { limit, cursor } = parseInput(pageRequestSchema, request);
    const found = await this.after(
      pool,
      cursor === undefined ? undefined : readLiveLease(readCursor(cursor)),
      limit + 1,
    );
    const { items, nextCursor } = pageOf(found, limit, ({ name, expiresMs }) => `${expiresMs} ${name}`);
    return { leases: await this.view(pool, items), nextCursor };
  }

  /** @throws LeaseNotFoundError unless it lives */
  async get(pool: PoolConfig, id: string): Promise<LeaseView> {
    const name = readLeaseId(id)?.name;
    const found = name && (await redisCall(this.redis.zscore(pool.keys.leases, name)));
    if (!name || !found || Number(found) <= (await serverTimeMs(this.redis))) throw new LeaseNotFoundError(pool.name);
    const [view] = await this.view(pool, [{ name, expiresMs: Number(found) }]);
    return view as LeaseView;
  }

  /** What a live lease was made for; undefined where that is nothing in particular. */
  async targetOf({ keys }: PoolConfig, { name }: LeaseName): Promise<string | undefined> {
    const note = await redisCall(this.redis.hget(keys.notes, `m${name.slice(0, 22)}`));
    return note?.split('\n')[2];
  }

  /** Those that expire later than the one given, or at the same time and are named after it. */
  private async after({ keys }: PoolConfig, last: LiveLease | undefined, count: number): Promise<LiveLease[]> {
    const nowMs = await serverTimeMs(this.redis);
    const fromMs = Math.max(last?.expiresMs ?? 0, nowMs + 1);
    const skip = last?.expiresMs === fromMs ? await this.rankWithin(keys.leases, last) : 0;
    const flat = await redisCall(
      this.redis.zrangebyscore(keys.leases, fromMs, '+inf', 'WITHSCORES', 'LIMIT', skip, count),
    );
    return Array.from({ length: flat.length / 2 }, (_, n) => ({
      name: flat[n * 2] as string,
      expiresMs: Number(flat[n * 2 + 1]),
    }));
  }

  /** How many leases that expire at the same time come before it or are it; where it has ended, none is passed over. */
  private async rankWithin(key: string, { name, expiresMs }: LiveLease): Promise<number> {
    const [rank, before] = await redisCall(
      Promise.all([this.redis.zrank(key, name), this.redis.zcount(key, '-inf', `(${expiresMs}`)]),
    );
    return rank === null ? 0 : Math.max(0, rank - before + 1);
  }

  private async view({ keys }: PoolConfig, found: readonly LiveLease[]): Promise<LeaseView[]> {
    if (found.length === 0) return [];
    const notes = await redisCall(this.redis.hmget(keys.notes, ...found.map(({ name }) => `m${name.slice(0, 22)}`)));
    return found.map(({ name, expiresMs }, n) => {
      const lease = readLeaseName(name);
      return {
        id: leaseIdOf(lease),
        memberId: lease.memberId,
        owner: notes[n]?.split('\n')[1] || null,
        fence: lease.fence,
        // A fence is the server's clock in microseconds, or a little more where leases came faster than that.
        acquiredAt: new Date(lease.fence / 1_000).toISOString(),
        expiresAt: new Date(expiresMs).toISOString(),
      };
    });
  }
}

function readLiveLease(text: string): LiveLease {
  const space = text.indexOf(' ');
  return { expiresMs: Number(text.slice(0, space)) || 0, name: text.slice(space + 1) };
}

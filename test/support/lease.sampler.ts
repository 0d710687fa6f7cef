import type { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';

/** The most leases that were seen at once: of one member, and of the pool. */
export interface Peak {
  samples: number;
  member: number;
  pool: number;
}

/** Looks at the leases of a pool, as Redis names them, again and again. */
export class LeaseSampler {
  private readonly peak: Peak = { samples: 0, member: 0, pool: 0 };
  private sampling = true;
  private readonly running: Promise<void>;

  constructor(
    private readonly redis: Redis,
    private readonly pool: string,
  ) {
    this.running = this.run();
  }

  async stop(): Promise<Peak> {
    this.sampling = false;
    await this.running;
    return this.peak;
  }

  private async run(): Promise<void> {
    while (this.sampling) {
      const counts = await leasesOf(this.redis, this.pool);
      const numbers = [...counts.values()];
      this.peak.samples += 1;
      this.peak.member = Math.max(this.peak.member, ...numbers);
      this.peak.pool = Math.max(
        this.peak.pool,
        numbers.reduce((sum, n) => sum + n, 0),
      );
      await sleep(1);
    }
  }
}

/** Member id -> how many of its leases have not been settled, by their names, in one look. */
export async function leasesOf(redis: Redis, pool: string): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const name of await redis.zrange(`evenhand:{${pool}}:leases`, '0', '-1')) {
    const member = name.slice(name.indexOf('.', 23) + 1);
    counts.set(member, (counts.get(member) ?? 0) + 1);
  }
  return counts;
}

import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import type { RedisClient } from '../../redis/redis.client.js';
import { RedisScript } from '../../redis/redis.script.js';
import { loadScript } from '../../redis/script.loader.js';
import { NOTHING_DUE, type UpkeepStep } from '../../pool/upkeep.step.js';

/** The longest time between two looks: how late what another process has registered is found, if that process died. */
const LOOK_MS = 500;
/** So much later than it is due: the clocks differ by that, and several processes need not come at the same instant. */
const LATE_MS = 5;
const JITTER_MS = 20;
/** For how long a pool that was taken is left to whoever took it. */
const CLAIM_MS = 500;
const POOLS_AT_ONCE = 16;
/** Steps in one pool before others get their turn. */
const MAX_STEPS = 20;

const CLAIM = new RedisScript(loadScript('due/claim.lua'));
const RELEASE = new RedisScript(loadScript('due/release.lua'));

/**
 * Does what is due in pools, or in queues, where nothing else happens. One timer for all of them; of many processes one at a
 * time takes a pool.
 */
export class DueTicker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private stepsOf: ((pool: string) => Promise<UpkeepStep>) | undefined;
  private timer: NodeJS.Timeout | undefined;
  private looking: Promise<void> = Promise.resolve();
  private closed = false;

  /** @param index key of the index of what is due */
  constructor(
    private readonly redis: RedisClient,
    private readonly index: string,
  ) {}

  /** @param stepsOf reads what a pool that is due is like, once for all steps of a look */
  use(stepsOf: (pool: string) => Promise<UpkeepStep>): void {
    this.stepsOf = stepsOf;
  }

  onApplicationBootstrap(): void {
    this.schedule(0);
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.closed = true;
    clearTimeout(this.timer);
    await this.looking;
  }

  private schedule(delayMs: number): void {
    if (this.closed) return;
    const jitterMs = Math.random() * JITTER_MS;
    this.timer = setTimeout(() => {
      this.looking = this.look().then(
        (nextMs) => {
          this.schedule(nextMs);
        },
        // Redis is away, which the client has logged.
        () => {
          this.schedule(LOOK_MS);
        },
      );
    }, delayMs + jitterMs).unref();
  }

  /** @returns in how many ms to look again */
  private async look(): Promise<number> {
    const [inMs, claim, ...pools] = (await CLAIM.run(this.redis, [this.index], [CLAIM_MS, POOLS_AT_ONCE])) as [
      number,
      number,
      ...string[],
    ];
    await Promise.all(pools.map((pool) => this.work(pool, claim)));
    if (pools.length > 0) return 0;
    return inMs < 0 ? LOOK_MS : Math.min(inMs + LATE_MS, LOOK_MS);
  }

  /** A pool that cannot be worked on now is due again when the claim runs out. */
  private async work(pool: string, claim: number): Promise<void> {
    try {
      let found = NOTHING_DUE;
      const step = await this.stepsOf?.(pool);
      for (let steps = 0; step && steps < MAX_STEPS; steps++) {
        found = await step();
        if (!found.more) break;
      }
      await RELEASE.run(this.redis, [this.index], [pool, claim, found.nextMs ?? -1]);
    } catch {
      return;
    }
  }
}

import { Inject, Injectable } from '@nestjs/common';
import { MemberNotFoundError } from '../errors/domain.errors.js';
import { PoolService } from '../pool/pool.service.js';
import { redisCall } from '../redis/redis.call.js';
import type { RedisClient } from '../redis/redis.client.js';
import { REDIS_CLIENT } from '../redis/redis.tokens.js';
import { PoolAccess } from '../selection/pool.access.js';
import { SelectionService } from '../selection/selection.service.js';
import type { Selection, SelectionResult } from '../selection/selection.types.js';
import type { Placement } from './job.store.js';
import { LauncherCalls } from './launcher/launcher.calls.js';
import { LauncherCallError, type LauncherNode } from './launcher/launcher.js';
import { type NodeRest, NodeRests } from './node.rests.js';
import type { StoredQueue } from './queue.directory.js';
import { unlessAborted } from './unless.aborted.js';

/** How long one wait for a node may take: as long as the turn is kept in between. */
const WAIT_MS = 2_000;
/** The most members that a selection may leave out. */
const MAX_EXCLUDED = 200;
/** Where more rest than can be left out: how many of them a look may draw. */
const MOST_IN_VAIN = 16;
/** When this part of its time is over, a lease is extended before it is relied on. */
const RENEW_AFTER = 1 / 3;

/** Finds the node on which the next job of a queue is to run: leased, reachable, and below its capacity by its own count. */
@Injectable()
export class NodeFinder {
  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly selection: SelectionService,
    private readonly access: PoolAccess,
    private readonly pools: PoolService,
    private readonly calls: LauncherCalls,
    private readonly rests: NodeRests,
  ) {}

  /**
   * @param keepTurn keeps the turn for as long as looking at one node takes; false when it is not the caller's any more
   * @param signal ends it at once: rejects with its reason
   * @returns the node, or why there is none now
   */
  async find(
    queue: StoredQueue,
    keepTurn: () => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<Placement | { why: string }> {
    let inVain = 0;
    while (await keepTurn()) {
      const resting = await this.rests.read(queue);
      const { selection, reason } = await this.select(queue, resting, signal);
      if (!selection) return { why: reason ?? 'AT_CAPACITY' };
      const sinceMs = performance.now();
      const placement = placementOf(queue, selection);
      if (!placement) return { why: 'NO_LEASE_LIFECYCLE' };
      if (resting.has(placement.node)) {
        await this.giveBack(placement);
        inVain += 1;
        if (inVain === MOST_IN_VAIN) return { why: 'NO_MATCH' };
      } else if (await this.hasRoom(queue, placement, keepTurn, signal)) {
        await this.renew(placement, selection, sinceMs);
        return placement;
      }
    }
    return { why: 'TURN_LOST' };
  }

  /** Gives a node back that nothing was started on. */
  async giveBack({ pool, lease }: Placement): Promise<void> {
    await this.selection.abandon(pool, lease);
  }

  /** Those who wait stand in the pool's line; nobody can wait for any node but those that rest. */
  private async select(
    queue: StoredQueue,
    resting: ReadonlyMap<string, NodeRest>,
    signal: AbortSignal,
  ): Promise<SelectionResult> {
    const { pool, leaseTtlMs } = queue.settings;
    // Where there are none, a selection would be counted in vain; where they are shorter by now, these are.
    const maxTtlMs = await this.access.withLifecycle(pool, ({ settings }) => Promise.resolve(settings.lease.maxTtlMs));
    const exclude = [...resting.keys()].slice(0, MAX_EXCLUDED);
    const request = { ttlMs: Math.min(leaseTtlMs, maxTtlMs), owner: `queue ${queue.name}` };
    return this.selection.select(
      pool,
      { ...request, ...(exclude.length > 0 ? { exclude } : { waitMs: WAIT_MS }) },
      signal,
    );
  }

  /** The node may have taken as long to answer as it is leased for. @throws LeaseExpiredError where it has */
  private async renew({ pool }: Placement, { lease }: Selection, sinceMs: number): Promise<void> {
    if (!lease || performance.now() - sinceMs <= lease.ttlMs * RENEW_AFTER) return;
    await this.selection.extend(pool, lease.id, { ttlMs: lease.ttlMs });
  }

  /** Gives the node back where it has none. */
  private async hasRoom(
    queue: StoredQueue,
    placement: Placement,
    keepTurn: () => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<boolean> {
    try {
      if (await keepTurn()) {
        const { load, starting, capacity } = await unlessAborted(this.countsOf(queue, placement), signal);
        // What is being started may not be in the node's count yet.
        if (load === null || capacity === null || load + starting < capacity) return true;
        await this.rests.busy(queue, placement.node, `the node itself counts ${load} jobs, of at most ${capacity}`);
      }
      await this.giveBack(placement);
    } catch (error) {
      if (!(error instanceof LauncherCallError)) {
        await this.giveBack(placement);
        // It was removed a moment ago.
        if (error instanceof MemberNotFoundError) return false;
        throw error;
      }
      await this.rests.failed(queue, placement.node, error.message);
      await this.selection.complete(placement.pool, placement.lease, { outcome: 'failure' });
    }
    return false;
  }

  private async countsOf(
    queue: StoredQueue,
    placement: Placement,
  ): Promise<{ load: number | null; starting: number; capacity: number | null }> {
    const [load, starting, capacity] = await Promise.all([
      this.calls.load(queue.settings, nodeOf(placement)),
      redisCall(this.redis.hget(queue.keys.nodes, `starting ${placement.node}`)),
      this.capacityOf(queue, placement.node),
    ]);
    return { load, starting: Number(starting ?? 0), capacity };
  }

  private async capacityOf({ settings }: StoredQueue, node: string): Promise<number | null> {
    const own = (await this.pools.getMember(settings.pool, node)).capacity;
    return own ?? (await this.pools.get(settings.pool)).capacity;
  }
}

function placementOf({ settings }: StoredQueue, { member, lease }: Selection): Placement | undefined {
  if (!lease) return undefined;
  const launcher = JSON.stringify(settings.launcher);
  return {
    pool: settings.pool,
    node: member.id,
    address: member.value,
    labels: JSON.stringify(member.labels),
    lease: lease.id,
    launcher,
  };
}

export function nodeOf({ node = '', address = '', labels = '{}' }: Partial<Placement>): LauncherNode {
  return { id: node, address, labels: JSON.parse(labels) as LauncherNode['labels'] };
}

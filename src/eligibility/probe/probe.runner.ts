import { setTimeout as sleep } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { DueIndex } from '../../pool/due.index.js';
import { PoolDirectory, type StoredPool } from '../../pool/pool.directory.js';
import { NOTHING_DUE, type UpkeepStep } from '../../pool/upkeep.step.js';
import { OwnAddresses } from './own.addresses.js';
import { ProbeClaims } from './probe.claims.js';
import { ProbeRun, type ProbeTools } from './probe.run.js';
import type { ProbeSettings } from './probe.settings.js';
import { ProberRegistry } from './prober.registry.js';
import { ProxyProber } from './proxy.prober.js';

/** Most probes of this process at the same time, over all pools: each has a connection, and some memory for what it reads. */
const MOST_AT_ONCE = 256;
/** Members claimed in one call: other pools get their turn in between. */
const CLAIM_STEP = 64;
/** When to look again where this process can do nothing, and another one may. */
const OTHERS_MS = 500;
/** How long a shutdown waits for probes that were called off. */
const SHUTDOWN_MS = 3_000;
const SHUTDOWN_LOOK_MS = 10;

/**
 * Probes the members that are due. A look at a pool claims some and starts their probes; each that ends makes room for the next, so
 * that a pool is worked off without further looks. Pools with members that are due get their turn one after the other.
 */
@Injectable()
export class ProbeRunner implements BeforeApplicationShutdown {
  private readonly logger = new Logger('Probes');
  private readonly closing = new AbortController();
  private readonly tools: ProbeTools;
  private readonly runs = new Map<string, ProbeRun>();
  /** Pools in which members are due that this process has not claimed, in the order of their turns. */
  private readonly hungry = new Set<string>();
  /** Probers that this process does not have, and has said so. */
  private readonly missed = new Set<string>();
  private underWay = 0;
  private isFeeding = false;

  constructor(
    private readonly claims: ProbeClaims,
    private readonly directory: PoolDirectory,
    private readonly probers: ProberRegistry,
    private readonly proxyProber: ProxyProber,
    private readonly own: OwnAddresses,
    due: DueIndex,
  ) {
    this.tools = { claims, own, due, signal: this.closing.signal };
  }

  /** Claims what is due in a pool and leaves its probes running. */
  stepOf(pool: StoredPool): UpkeepStep {
    return async () => {
      const { probe } = pool.settings;
      return probe ? { more: false, nextMs: await this.claim(pool, probe) } : NOTHING_DUE;
    };
  }

  /** Calls probes off, which says nothing about their members, and waits until they have ended, for three seconds at most. */
  async beforeApplicationShutdown(): Promise<void> {
    this.closing.abort();
    const deadlineMs = performance.now() + SHUTDOWN_MS;
    while (this.runs.size > 0 && performance.now() < deadlineMs) await sleep(SHUTDOWN_LOOK_MS);
    await this.proxyProber.close();
  }

  /** @returns when to look at the pool again, in ms by the server's clock, or null for never */
  private async claim(pool: StoredPool, settings: ProbeSettings): Promise<number | null> {
    const idleMs = this.idleMs(pool.name, settings);
    if (idleMs > 0) return Date.now() + idleMs;
    const most = Math.min(CLAIM_STEP, MOST_AT_ONCE - this.underWay);
    if (most <= 0) {
      this.hungry.add(pool.name);
      return Date.now() + OTHERS_MS;
    }
    // Taken before the answer is there, so that two claims at the same time do not take the same room.
    this.underWay += most;
    let taken = 0;
    try {
      const claim = await this.claims.claim(pool, settings, most);
      if (claim === 'STALE') {
        await this.directory.find(pool.name);
        return Date.now();
      }
      taken = claim.members.length;
      if (claim.left && taken === most) this.hungry.add(pool.name);
      if (taken > 0) this.runOf(pool.name, settings).start(claim, () => (this.underWay -= 1));
      this.endIdle(pool.name);
      return claim.nextMs;
    } finally {
      this.underWay -= most - taken;
      this.feed();
    }
  }

  /** For how long this process can do nothing in a pool, in ms. */
  private idleMs(pool: string, settings: ProbeSettings): number {
    if (this.closing.signal.aborted) return OTHERS_MS;
    if (this.probers.find(settings.prober)) return this.own.outageMs(settings);
    if (!this.missed.has(settings.prober)) {
      this.missed.add(settings.prober);
      this.logger.warn(`Pool "${pool}" is probed by "${settings.prober}", which this process does not have`);
    }
    return OTHERS_MS;
  }

  /** The pool's run with these settings; one with others comes to its end by itself. */
  private runOf(pool: string, settings: ProbeSettings): ProbeRun {
    const name = JSON.stringify([pool, settings]);
    const known = this.runs.get(name);
    if (known) return known;
    const prober = this.probers.find(settings.prober);
    if (!prober) throw new Error(`There is no prober "${settings.prober}".`);
    const run = new ProbeRun(pool, settings, prober, this.tools, (settled) => {
      this.settled(settled);
    });
    this.runs.set(name, run);
    return run;
  }

  /** A run with more to do ends when the next claim finds nothing. */
  private settled(run: ProbeRun): void {
    if (run.hasMore && !this.closing.signal.aborted) this.hungry.add(run.pool);
    else this.endIdle(run.pool);
    this.feed();
  }

  private endIdle(pool: string): void {
    for (const [name, run] of this.runs) {
      if (run.pool !== pool || !run.isIdle) continue;
      this.runs.delete(name);
      run.report();
    }
  }

  /** Gives the pools that have something to do their turns while there is room. */
  private feed(): void {
    if (!this.isFeeding && this.hungry.size > 0) void this.feedAll();
  }

  /** A pool whose turn is over and that has more to do is behind the others then, and so gets another turn here. */
  private async feedAll(): Promise<void> {
    this.isFeeding = true;
    for (const name of this.hungry) {
      if (this.underWay >= MOST_AT_ONCE) break;
      this.hungry.delete(name);
      await this.feedOne(name);
    }
    this.isFeeding = false;
  }

  private async feedOne(name: string): Promise<void> {
    try {
      const pool = this.directory.recall(name) ?? (await this.directory.find(name));
      if (pool?.settings.probe) await this.claim(pool, pool.settings.probe);
      else this.endIdle(name);
    } catch {
      // Redis is away, which the client has logged: the index of what is due leads here again.
    }
  }
}

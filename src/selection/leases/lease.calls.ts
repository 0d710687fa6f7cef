import { Injectable } from '@nestjs/common';
import { CallGatherer } from '../calls/call.gatherer.js';
import { CallTraffic } from '../calls/call.traffic.js';
import type { PoolConfig } from '../strategies/selection.strategy.js';
import type { Extended, ExtensionRequest, Settlement } from './lease.lifecycle.js';
import type { AcquisitionResult } from './lease.replies.js';
import { type Acquisition, type Ending, LeaseScripts } from './lease.scripts.js';

/** For how many different TTLs of a pool calls of one kind are gathered. */
const MAX_TTLS = 16;

/** A script about one lease costs so much more than one of several that gathering pays early. */
const DIRECT_BELOW = 4;

type Ttl = number | undefined;

/** The calls of one pool that gather; those of one TTL together, so that one that is too long fails nobody else's. */
interface PoolCalls {
  settle: CallGatherer<Ending, Settlement>;
  acquire: Map<Ttl, CallGatherer<string, AcquisitionResult>>;
  extend: Map<Ttl, CallGatherer<ExtensionRequest, Extended>>;
}

/** Runs the scripts about leases for single calls, which travel together where many are under way. */
@Injectable()
export class LeaseCalls {
  private readonly calls = new WeakMap<PoolConfig, PoolCalls>();

  constructor(
    private readonly traffic: CallTraffic,
    private readonly scripts: LeaseScripts,
  ) {}

  /** @throws ValidationFailedError for a TTL above the pool's longest */
  acquire(pool: PoolConfig, ask: Acquisition): Promise<AcquisitionResult> {
    const [token] = ask.tokens;
    if (ask.wish || ask.narrowing || ask.tokens.length !== 1 || token === undefined)
      return this.scripts.acquire(pool, ask);
    const { strategy, ttlMs } = ask;
    const gatherer = ofTtl(this.of(pool).acquire, ttlMs, () => this.acquisitions(pool, strategy, ttlMs));
    return gatherer.call(token);
  }

  /** @throws PoolNotFoundError */
  settle(pool: PoolConfig, lease: string, how: 'completed' | 'abandoned' | 'forced'): Promise<Settlement> {
    return this.of(pool).settle.call([lease, how.charAt(0)]);
  }

  /** @throws PoolNotFoundError | ValidationFailedError for a TTL above the pool's longest */
  extend(pool: PoolConfig, request: ExtensionRequest): Promise<Extended> {
    return ofTtl(this.of(pool).extend, request.ttlMs, () => this.extensions(pool)).call(request);
  }

  private of(pool: PoolConfig): PoolCalls {
    let calls = this.calls.get(pool);
    if (!calls) {
      calls = { settle: this.settlements(pool), acquire: new Map(), extend: new Map() };
      this.calls.set(pool, calls);
    }
    return calls;
  }

  private acquisitions(pool: PoolConfig, strategy: string, ttlMs: Ttl): CallGatherer<string, AcquisitionResult> {
    return new CallGatherer(
      this.traffic,
      DIRECT_BELOW,
      (token) => this.scripts.acquire(pool, { strategy, tokens: [token], ttlMs }),
      async (tokens) => {
        const found = await this.scripts.acquire(pool, { strategy, tokens, ttlMs });
        return tokens.map((_, n) => nthOf(found, n));
      },
    );
  }

  private settlements(pool: PoolConfig): CallGatherer<Ending, Settlement> {
    return new CallGatherer(
      this.traffic,
      DIRECT_BELOW,
      (ending) => this.scripts.settleOne(pool, ending),
      (endings) => this.scripts.settle(pool, endings),
    );
  }

  private extensions(pool: PoolConfig): CallGatherer<ExtensionRequest, Extended> {
    return new CallGatherer(
      this.traffic,
      DIRECT_BELOW,
      async (request) => (await this.scripts.extend(pool, [request]))[0] as Extended,
      (requests) => this.scripts.extend(pool, requests),
    );
  }
}

function ofTtl<T>(gatherers: Map<Ttl, T>, ttlMs: Ttl, make: () => T): T {
  let gatherer = gatherers.get(ttlMs);
  if (!gatherer) {
    if (gatherers.size >= MAX_TTLS) gatherers.clear();
    gatherer = make();
    gatherers.set(ttlMs, gatherer);
  }
  return gatherer;
}

/** What the n-th of several that asked together gets. */
function nthOf(found: AcquisitionResult, n: number): AcquisitionResult {
  if (found.word !== 'LENT') return found;
  const selection = found.selections[n];
  if (selection) return { word: 'LENT', selections: [selection], shortage: null };
  return found.shortage ?? { word: 'AT_CAPACITY', retryAfterMs: null };
}

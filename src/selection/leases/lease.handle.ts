import { LeaseExpiredError } from '../../errors/domain.errors.js';
import type { Lease, Selection } from '../selection.types.js';
import type { Completion } from './lease.types.js';

/** What a handle needs to end its lease. */
export interface LeaseEnds {
  complete(pool: string, id: string, completion: Completion): Promise<unknown>;
  abandon(pool: string, id: string): Promise<unknown>;
}

/**
 * A selection that is held: its lease is extended until it is completed, abandoned or disposed of (`await using`). Where
 * the strategy has no leases there is nothing to extend or to end, and `signal` never fires.
 */
export class LeaseHandle implements AsyncDisposable {
  private readonly losing = new AbortController();
  private ended = false;

  /**
   * @param validUntilMs by this process's monotonic clock, from before the lease was asked for
   * @param onEnd tells the keeper that there is nothing more to extend
   */
  constructor(
    readonly pool: string,
    readonly selection: Selection,
    public validUntilMs: number,
    private readonly ends: LeaseEnds,
    private readonly onEnd: (handle: LeaseHandle) => void,
  ) {}

  /** Fires when the lease is lost: it expired, or was ended by somebody else. The member may then be in other hands. */
  get signal(): AbortSignal {
    return this.losing.signal;
  }

  get lease(): Lease | null {
    return this.selection.lease;
  }

  /** @throws LeaseExpiredError | LeaseEndedError when it was lost before, RedisUnavailableError */
  async complete(completion: Completion = {}): Promise<void> {
    const { lease } = this;
    if (this.finish() && lease) await this.ends.complete(this.pool, lease.id, completion);
  }

  /** Gives the member back unused. @throws LeaseExpiredError | LeaseEndedError when it was lost before, RedisUnavailableError */
  async abandon(): Promise<void> {
    const { lease } = this;
    if (this.finish() && lease) await this.ends.abandon(this.pool, lease.id);
  }

  /** Abandons what was not completed. Never rejects: a lease that cannot be ended now expires by itself. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.abandon().catch(() => undefined);
  }

  /** Called by the keeper when the lease is gone. */
  lose(endedAs: 'expired' | 'forced'): void {
    if (this.ended) return;
    this.onEnd(this);
    this.losing.abort(new LeaseExpiredError(endedAs));
  }

  private finish(): boolean {
    if (this.ended) return false;
    this.ended = true;
    this.onEnd(this);
    return true;
  }
}

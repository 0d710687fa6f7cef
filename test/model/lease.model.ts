/** What least-concurrency promises, as plainly as it can be said: everything in memory, one thing after the other. */

/** What narrows a selection. */
export interface Wish {
  labels?: { country: string };
  exclude?: string[];
  target?: string;
  session?: string;
}

export interface ModelMember {
  id: string;
  labels: { country?: string };
  weight: number;
  capacity: number | null;
  state: 'eligible' | 'disabled' | 'removed';
  /** The pool's count of picks at this member's last one, or when it became eligible. */
  tie: number;
  assigned: number;
}

export type Ending = 'completed' | 'abandoned' | 'expired' | 'forced';

export interface ModelLease {
  id: string;
  memberId: string;
  /** On the model's own clock. */
  expiresMs: number;
  requestId: string;
  fence: number;
}

export class LeaseModel {
  nowMs = 0;
  picks = 0;
  capacity: number | null = null;
  limit: number | null = null;
  lastFence = 0;
  readonly members = new Map<string, ModelMember>();
  readonly live = new Map<string, ModelLease>();
  readonly ended = new Map<string, Ending>();
  /** Whether the labels may be asked for. */
  hasFilter = false;
  /** Target and member, a blank between. */
  readonly banned = new Set<string>();
  readonly sessions = new Map<string, string>();
  readonly requests = new Map<string, string>();
  /** Lease ids in the order in which they were made. */
  readonly made: string[] = [];

  inFlight(memberId: string): number {
    return [...this.live.values()].filter((lease) => lease.memberId === memberId).length;
  }

  /** What the pool would pick now, or why there is nothing. */
  pick(wish: Wish = {}): ModelMember | 'AT_CAPACITY' | 'NONE_ELIGIBLE' | 'EMPTY_POOL' | 'NO_MATCH' {
    const present = [...this.members.values()].filter(({ state }) => state !== 'removed');
    const eligible = present.filter(({ state }) => state === 'eligible');
    if (eligible.length === 0) return present.length > 0 ? 'NONE_ELIGIBLE' : 'EMPTY_POOL';
    if (this.limit !== null && this.live.size >= this.limit) return 'AT_CAPACITY';
    const fit = eligible.filter((member) => this.isFit(member, wish));
    if (fit.length === 0) return 'NO_MATCH';
    const bound = fit.filter(({ id }) => wish.session !== undefined && this.sessions.get(wish.session) === id);
    const open = (bound.length > 0 ? bound : fit).filter(
      (member) => this.inFlight(member.id) < (member.capacity ?? this.capacity ?? Infinity),
    );
    return open.sort((a, b) => this.compare(a, b))[0] ?? 'AT_CAPACITY';
  }

  /** Ends what is past its expiry. */
  expire(): void {
    for (const lease of [...this.live.values()]) if (lease.expiresMs <= this.nowMs) this.end(lease, 'expired');
  }

  lend(member: ModelMember, lease: Omit<ModelLease, 'memberId'>): void {
    this.picks++;
    member.tie = this.picks;
    member.assigned++;
    this.live.set(lease.id, { ...lease, memberId: member.id });
    this.made.push(lease.id);
    if (lease.requestId !== '') this.requests.set(lease.requestId, lease.id);
  }

  end(lease: ModelLease, how: Ending): void {
    this.live.delete(lease.id);
    this.ended.set(lease.id, how);
  }

  /** How a call that would end or extend a lease is answered: the lease while it lives, or how it ended. */
  look(id: string): ModelLease | Ending {
    const lease = this.live.get(id);
    if (lease && lease.expiresMs <= this.nowMs) this.end(lease, 'expired');
    return this.live.get(id) ?? this.ended.get(id) ?? 'expired';
  }

  private isFit({ id, labels }: ModelMember, wish: Wish): boolean {
    const hasLabels = wish.labels === undefined || wish.labels.country === labels.country;
    const isBanned = wish.target !== undefined && this.banned.has(`${wish.target} ${id}`);
    return hasLabels && !isBanned && !wish.exclude?.includes(id);
  }

  private compare(a: ModelMember, b: ModelMember): number {
    const level = ({ id, weight }: ModelMember) => Math.floor((this.inFlight(id) * 100) / weight);
    // Ties of members whose weight is not 1 come half a pick later.
    const tie = ({ tie, weight }: ModelMember) => tie * 2 + (weight === 1 ? 0 : 1);
    return level(a) - level(b) || tie(a) - tie(b) || (a.id < b.id ? -1 : 1);
  }
}

import { createHash } from 'node:crypto';

/** 132 bits: two targets of a pool never share a name. */
const TARGET_LENGTH = 22;

/** The keys of one pool's catalogue; all of them share the hash tag `{pool}`, and so one slot of a cluster. */
export interface PoolKeys {
  /** Hash: the pool's settings. */
  settings: string;
  /** Hash: member id -> record. */
  members: string;
  /** Sorted set, all scores 0: ids of the eligible members. */
  eligible: string;
  /** Sorted set, all scores 0: ids of the members that are not eligible now. */
  withdrawn: string;
  /** Hash: id of a withdrawn member -> where it stands, why, and until when. */
  parked: string;
  /** Hash: id of a removed member -> where it stood. */
  history: string;
  /** Sorted set: id of a removed member -> when it was removed, in milliseconds. */
  removed: string;
  /** String: the token of the import that is under way. */
  lock: string;
  /** Hash: member id -> what bears on its state; lua/include/facts.lua says how. */
  facts: string;
  /** Hash: reason -> how many members are withdrawn for it. */
  reasons: string;
  /** Sorted set: id of a cooling member -> when its cooldown ends, in milliseconds. */
  returns: string;
  /** Sorted set: id of a candidate or unhealthy member -> when it is to be probed, in milliseconds. */
  probes: string;
  /** Sorted set: claim and id of a member that is being probed -> when the claim ends, in milliseconds. */
  probing: string;
  /** Sorted set, all scores 0: the views of the pool's filters; lua/include/views.lua says how. */
  views: string;
  /** Hash: session -> id of its member. */
  sessions: string;
  /** Sorted set: session -> when it is forgotten, in milliseconds. */
  sessionEnds: string;
  /** Sorted set: target that has bans -> when the last of them is forgotten, in milliseconds. */
  targets: string;
  /** String: how many selections the pool has made, those that came with a lease aside: `sequence` of the settings counts them. */
  assigned: string;
  /** Sorted set: live lease -> when it expires, in milliseconds. */
  leases: string;
  /** Hash: ended lease, or requestId -> how it ended. */
  ended: string;
  /** Hash: the same, of a while ago. */
  endedOld: string;
  /** Hash: what only some leases have, and what those who wait want. */
  notes: string;
  /** Sorted set: waiter -> ticket. */
  waiters: string;
  /** Sorted set: process that waits -> when it was last seen, in milliseconds. */
  seen: string;
}

/** Every key that Evenhand uses is named here. */
export class KeyNames {
  /** @param prefix first part of every key; without braces, which would move the hash tag */
  constructor(private readonly prefix: string) {}

  /** Sorted set, all scores 0: the names of all pools. */
  pools(): string {
    return `${this.prefix}:pools`;
  }

  /** Sorted set: pool, or an entry of `dueEntry` -> when something is due in it, in milliseconds. */
  due(): string {
    return `${this.prefix}:due`;
  }

  /** The channel on which one process is told of its waiters. */
  channel(process: string): string {
    return `${this.prefix}:process:${process}`;
  }

  /** String: the random key under which passwords are hashed for member ids. */
  passwordTagKey(): string {
    return `${this.prefix}:password-tag-key`;
  }

  pool(pool: string): PoolKeys {
    const at = (part: string) => this.poolKey(pool, part);
    return {
      settings: at('settings'),
      members: at('members'),
      eligible: at('eligible'),
      withdrawn: at('withdrawn'),
      parked: at('parked'),
      history: at('history'),
      removed: at('removed'),
      lock: at('lock'),
      facts: at('facts'),
      reasons: at('reasons'),
      returns: at('returns'),
      probes: at('probes'),
      probing: at('probing'),
      views: at('views'),
      sessions: at('sessions'),
      sessionEnds: at('session-ends'),
      targets: at('targets'),
      assigned: at('assigned'),
      leases: at('leases'),
      ended: at('ended'),
      endedOld: at('ended-old'),
      notes: at('notes'),
      waiters: at('waiters'),
      seen: at('seen'),
    };
  }

  /** The keys of a strategy's index of a pool: each strategy has its own, so that a change of strategy empties the old one. */
  index(pool: string, strategy: string, parts: readonly string[]): string[] {
    return parts.map((part) => this.poolKey(pool, `${strategy}:${part}`));
  }

  /** What is known of a target of a pool: sorted set of banned member -> until when, in ms; hash of where its picks begin. */
  target(pool: string, target: string): [bans: string, cursors: string] {
    const name = createHash('sha256').update(target).digest('base64url').slice(0, TARGET_LENGTH);
    return [this.poolKey(pool, `bans:${name}`), this.poolKey(pool, `cursors:${name}`)];
  }

  private poolKey(pool: string, part: string): string {
    return `${this.prefix}:{${pool}}:${part}`;
  }
}

/** The catalogue keys in the order in which lua/include/catalogue.lua takes them. */
export function catalogueKeys(keys: PoolKeys): string[] {
  return [
    keys.settings,
    keys.members,
    keys.eligible,
    keys.withdrawn,
    keys.parked,
    keys.history,
    keys.removed,
    keys.lock,
    keys.facts,
    keys.reasons,
    keys.returns,
    keys.probes,
    keys.views,
  ];
}

/** What registers a pool in the index of what is due, until somebody takes it: the pool, and a label that acquire.lua gives. */
export function dueEntry(pool: string, label = ''): string {
  return `${pool}!${label}`;
}

/** The keys in the order in which lua/include/lease-keys.lua takes them; the strategy's index follows. */
export function leaseKeys(keys: PoolKeys, indexKeys: readonly string[]): string[] {
  return [
    keys.settings,
    keys.members,
    keys.leases,
    keys.ended,
    keys.endedOld,
    keys.notes,
    keys.waiters,
    keys.seen,
    ...indexKeys,
    keys.views,
  ];
}

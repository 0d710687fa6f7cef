/** What least-assigned promises of narrowed selections, as plainly as it can be said: everything in memory. */

const STRIDE = 100;

export type Labels = Readonly<Record<string, string>>;
export type Restore = 'level' | 'keep' | 'reset';

/** What a request asks for, all of it optional. */
export interface Wish {
  labels?: Labels;
  exclude?: string[];
  target?: string;
  session?: string;
}

/** A member, in the pool or remembered. */
export interface CountedMember {
  id: string;
  weight: number;
  labels: Labels;
  score: number;
  assigned: number;
  isDisabled: boolean;
  isCooling: boolean;
}

export type Why = 'EMPTY_POOL' | 'NONE_ELIGIBLE' | 'NO_MATCH';

export const scoreOf = (count: number, weight: number) => Math.floor((count * STRIDE) / weight);
/** The smallest count whose score is not below a given one. */
export const countAt = (score: number, weight: number) => Math.ceil((score * weight) / STRIDE);
export const isEligible = ({ isDisabled, isCooling }: CountedMember) => !isDisabled && !isCooling;
const hasLabels = (member: CountedMember, labels: Labels = {}) =>
  Object.entries(labels).every(([name, value]) => member.labels[name] === value);

export class CountedModel {
  readonly members = new Map<string, CountedMember>();
  readonly history = new Map<string, CountedMember>();
  readonly sessions = new Map<string, string>();
  readonly bans = new Map<string, Set<string>>();
  filters: string[][] = [];
  restore: Restore = 'level';

  /** Whether the pool's filters name the labels that are asked for together. */
  canAsk({ labels = {} }: Wish): boolean {
    const names = Object.keys(labels).sort().join();
    return names === '' || this.filters.some((filter) => [...filter].sort().join() === names);
  }

  /**
   * The pick of one selection, which is counted; or why there is none.
   *
   * @param level the score that picks for the target have come to: who is fit and below it is raised to it first
   */
  pick(wish: Wish, level: number | null): CountedMember | Why {
    const fit = this.eligible().filter((member) => this.isFit(member, wish));
    const own = fit.find(({ id }) => wish.session !== undefined && this.sessions.get(wish.session) === id);
    if (!own) for (const member of fit) if (level !== null && member.score < level) enter(member, level);
    const picked = own ?? fit.sort((a, b) => a.score - b.score || (a.id < b.id ? -1 : 1))[0];
    if (!picked) return this.whyNobody();
    picked.score = scoreOf(countAt(picked.score, picked.weight) + 1, picked.weight);
    picked.assigned++;
    if (wish.session !== undefined) this.sessions.set(wish.session, picked.id);
    return picked;
  }

  /** Puts a member in, anew or from where it was removed, or changes what it has. */
  import(id: string, weight: number, labels: Labels): void {
    const here = this.members.get(id);
    if (here) return this.change(id, { weight, labels });
    const past = this.history.get(id);
    this.history.delete(id);
    const fresh = { id, score: 0, assigned: 0, isDisabled: false, isCooling: false };
    const member = { ...(past ?? fresh), weight, labels };
    if (isEligible(member)) enter(member, past ? this.restored(member) : this.level(member));
    this.members.set(id, member);
  }

  remove(id: string, forget: boolean): void {
    const member = this.members.get(id);
    this.members.delete(id);
    if (member && !forget) this.history.set(id, member);
  }

  change(id: string, changes: Partial<CountedMember>): void {
    const member = this.members.get(id);
    if (!member) return;
    const wasEligible = isEligible(member);
    this.members.delete(id);
    Object.assign(member, changes);
    if (isEligible(member)) enter(member, wasEligible ? member.score : this.restored(member));
    this.members.set(id, member);
  }

  /** Scores after another strategy had the pool: of those that it had, they say how often each was selected. */
  takeBack(): void {
    for (const member of this.eligible()) member.score = scoreOf(member.assigned, member.weight);
  }

  ban(target: string, id: string): void {
    this.bans.set(target, (this.bans.get(target) ?? new Set()).add(id));
  }

  eligible(): CountedMember[] {
    return [...this.members.values()].filter(isEligible);
  }

  isFit(member: CountedMember, { labels, exclude = [], target }: Wish): boolean {
    const isBanned = target !== undefined && this.bans.get(target)?.has(member.id);
    return hasLabels(member, labels) && !exclude.includes(member.id) && !isBanned;
  }

  private whyNobody(): Why {
    if (this.members.size === 0) return 'EMPTY_POOL';
    return this.eligible().length === 0 ? 'NONE_ELIGIBLE' : 'NO_MATCH';
  }

  private restored(member: CountedMember): number {
    if (this.restore === 'keep') return member.score;
    return this.restore === 'reset' ? 0 : this.level(member);
  }

  /** At least the lowest score in the pool, and in each view that the member is in. */
  private level(member: CountedMember): number {
    const views = this.filters.filter((filter) => filter.every((name) => name in member.labels));
    const peers = views.map((filter) =>
      this.eligible().filter((other) => filter.every((name) => other.labels[name] === member.labels[name])),
    );
    const lowest = [this.eligible(), ...peers].filter((group) => group.length > 0);
    return Math.max(member.score, ...lowest.map((group) => Math.min(...group.map(({ score }) => score))));
  }
}

/** Gives a member the first score of its weight that is not below one. */
function enter(member: CountedMember, score: number): void {
  member.score = scoreOf(countAt(score, member.weight), member.weight);
}

import type { WithdrawalReason } from '../../pool/member.js';
import { type MatchCounts, noneWithdrawn } from './explain.types.js';

/** Counts members one by one, by what keeps them from being selected. */
export class MemberTally {
  readonly counts: MatchCounts = {
    members: 0,
    eligible: 0,
    withdrawn: noneWithdrawn(),
    excluded: 0,
    banned: 0,
    atCapacity: 0,
    selectable: 0,
  };
  /** In ms; infinite where there is none. */
  nextReturnMs = Infinity;
  nextBanEndMs = Infinity;

  constructor(
    private readonly excluded: ReadonlySet<string>,
    private readonly nowMs: number,
  ) {}

  /** @param standing what lua/include/catalogue.lua says of a withdrawn member */
  addWithdrawn(standing: string): void {
    const [, , reason, returnsAt] = standing.split(' ');
    this.counts.members += 1;
    this.counts.withdrawn[reason as WithdrawalReason] += 1;
    if (reason === 'cooling') this.nextReturnMs = Math.min(this.nextReturnMs, Number(returnsAt));
  }

  /** @param banEndMs when its ban at the target ends, 0 for never banned */
  addEligible(id: string, banEndMs: number, isFull: boolean): void {
    const { counts } = this;
    counts.members += 1;
    counts.eligible += 1;
    if (this.excluded.has(id)) {
      counts.excluded += 1;
    } else if (banEndMs > this.nowMs) {
      counts.banned += 1;
      this.nextBanEndMs = Math.min(this.nextBanEndMs, banEndMs);
    } else {
      counts[isFull ? 'atCapacity' : 'selectable'] += 1;
    }
  }
}

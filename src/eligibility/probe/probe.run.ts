import { Logger } from '@nestjs/common';
import { EvenhandError } from '../../errors/evenhand.error.js';
import type { DueIndex } from '../../pool/due.index.js';
import type { MemberProber, MemberToProbe } from './member.prober.js';
import type { OwnAddresses } from './own.addresses.js';
import { type ProbeVerdict, tryMember, withoutVerdict } from './probe.attempt.js';
import type { ProbeClaim, ProbeClaims, ProbeCounts, ProbeOutcome } from './probe.claims.js';
import type { ProbeSettings } from './probe.settings.js';

/** Outcomes that count in one call, which holds Redis for about three milliseconds. */
const SETTLE_STEP = 100;

/** What the probes of a run are done with. */
export interface ProbeTools {
  claims: ProbeClaims;
  own: OwnAddresses;
  due: DueIndex;
  /** Calls off what is under way. */
  signal: AbortSignal;
}

/** The probes that this process does in a pool, by the same settings, until there is nothing to do for a while. */
export class ProbeRun {
  private readonly logger = new Logger('Probes');
  private readonly startedAt = performance.now();
  private readonly outcomes: ProbeOutcome[] = [];
  private readonly counts: ProbeCounts = { eligible: 0, unhealthy: 0, none: 0 };
  private underWay = 0;
  private settling: Promise<void> | undefined;
  /** Whether more members of the pool were due when some were claimed last. */
  hasMore = false;

  /** @param onSettled is called when outcomes have been taken into account: then there is room for more */
  constructor(
    readonly pool: string,
    readonly settings: ProbeSettings,
    private readonly prober: MemberProber,
    private readonly tools: ProbeTools,
    private readonly onSettled: (run: ProbeRun) => void,
  ) {}

  /** Whether nothing is under way. */
  get isIdle(): boolean {
    return this.underWay === 0 && this.outcomes.length === 0 && this.settling === undefined;
  }

  /** @param onDone is called when a probe has ended, however it did */
  start({ claim, members, left }: ProbeClaim, onDone: () => void): void {
    this.hasMore = left;
    this.underWay += members.length;
    for (const member of members) void this.probe(member, claim, onDone);
  }

  private async probe(member: MemberToProbe, claim: number, onDone: () => void): Promise<void> {
    const found = await this.verdictOn(member);
    onDone();
    this.underWay -= 1;
    this.logger.debug(`Pool "${this.pool}": ${found.evidence === '' ? found.verdict : found.evidence}`);
    this.outcomes.push({ id: member.id, claim, ...found });
    this.settling ??= this.settle();
  }

  private async verdictOn(member: MemberToProbe): Promise<ProbeVerdict> {
    const { settings } = this;
    const { own, signal } = this.tools;
    if (settings.exitAddress === undefined) {
      return tryMember(this.prober, member, settings, { signal, ownAddress: null });
    }
    const found = await own.find(settings, signal);
    if (found.ok) return tryMember(this.prober, member, settings, { signal, ownAddress: found.address });
    if (signal.aborted) return { verdict: 'none', evidence: '' };
    return withoutVerdict(`The service's own address is not known (${found.reason}: ${found.detail})`);
  }

  /** While Redis takes outcomes into account, others gather. */
  private async settle(): Promise<void> {
    while (this.outcomes.length > 0) await this.settleSome(this.outcomes.splice(0, SETTLE_STEP));
    this.settling = undefined;
    this.onSettled(this);
  }

  /** Outcomes that get lost, as Redis is away, are found again when the claims have run out. */
  private async settleSome(outcomes: readonly ProbeOutcome[]): Promise<void> {
    try {
      const { counts, nextMs } = await this.tools.claims.settle(this.pool, this.settings, outcomes);
      for (const verdict of ['eligible', 'unhealthy', 'none'] as const) this.counts[verdict] += counts[verdict];
      if (nextMs !== null) await this.tools.due.expect(this.pool, nextMs);
    } catch (error) {
      const code = error instanceof EvenhandError ? error.code : 'INTERNAL';
      this.logger.debug(`Pool "${this.pool}": ${outcomes.length} outcomes of probes were lost (${code})`);
    }
  }

  /** Says what came of the run. */
  report(): void {
    const { eligible, unhealthy, none } = this.counts;
    const seconds = ((performance.now() - this.startedAt) / 1_000).toFixed(1);
    this.logger.log(
      `Pool "${this.pool}": probed ${eligible + unhealthy + none} members in ${seconds} s: ` +
        `${eligible} eligible, ${unhealthy} unhealthy, ${none} without a verdict`,
    );
  }
}

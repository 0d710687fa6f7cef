import type { Labels } from '../../pool/member.js';
import { type PolicyRules, compilePolicy } from '../policy/policy.rules.js';
import type { Policy } from '../policy/policy.settings.js';
import { fingerprintOf } from './fingerprint.js';
import type { LabelFilter } from './label.filter.js';
import { viewsOf } from './view.names.js';

/** The settings of a pool that every one of its members is judged by. */
export interface RuleSettings {
  candidates: 'trust' | 'probe';
  policy: Policy | null;
  filters: readonly LabelFilter[];
}

/** What follows from the rules for one member. */
export interface Judgement {
  /** The names of the views that it is in, one after the other. */
  views: string;
  /** How it violates the policy; empty if it does not. */
  violation: string;
}

const NOTHING: Judgement = { views: '', violation: '' };

/** The fingerprint of a pool's rules; empty where there are none. */
export function rulesFingerprint({ candidates, policy, filters }: RuleSettings): string {
  const hasRules = candidates === 'probe' || policy !== null || filters.length > 0;
  return hasRules ? fingerprintOf({ candidates, policy, filters }) : '';
}

/** Judges members by the rules of their pool. */
export class MemberRules {
  readonly fingerprint: string;
  private readonly policy: PolicyRules | null;

  constructor(private readonly settings: RuleSettings) {
    this.fingerprint = rulesFingerprint(settings);
    this.policy = settings.policy && compilePolicy(settings.policy);
  }

  /** Whether all members are judged alike, whatever they are. */
  get isEmpty(): boolean {
    return this.policy === null && this.settings.filters.length === 0;
  }

  judge(member: { id: string; value: string; labels: Labels }): Judgement {
    if (this.isEmpty) return NOTHING;
    return { views: viewsOf(this.settings.filters, member.labels), violation: this.policy?.violation(member) ?? '' };
  }
}

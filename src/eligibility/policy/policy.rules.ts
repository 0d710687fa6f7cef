import { parseAddress } from '../../pool/lists/address.parser.js';
import type { ProxyAddress } from '../../pool/lists/proxy.address.js';
import type { MemberInput } from '../../pool/member.js';
import { type AddressRule, compileAddressRules } from './address.rules.js';
import { compileLabelRules } from './label.rules.js';
import type { Policy } from './policy.settings.js';

export type JudgedMember = Required<Pick<MemberInput, 'id' | 'value' | 'labels'>>;

/** The rules of a policy, ready to judge many members. */
export interface PolicyRules {
  /** Why the member is not fit, in a few words that go on from its name and show nothing of its value; null if it is fit. */
  violation(member: JudgedMember): string | null;
}

/** Taken for a value that names no scheme, and told apart from one that names it. */
const ASSUMED_SCHEME = 'http';
const NAMES_ASSUMED_SCHEME = /^http:\/\//i;

/**
 * Makes rules of a policy.
 *
 * @throws ValidationFailedError for a range that `policySchema` would refuse
 */
export function compilePolicy(policy: Policy): PolicyRules {
  const labelViolation = compileLabelRules(policy.labels ?? {});
  const addressRules = compileAddressRules(policy);
  const needsScheme = policy.schemes !== undefined;
  return {
    violation: ({ value, labels }) => labelViolation(labels) ?? addressViolation(addressRules, value, needsScheme),
  };
}

function addressViolation(rules: readonly AddressRule[], value: string, needsScheme: boolean): string | null {
  if (rules.length === 0) return null;
  const address = addressIn(value, needsScheme);
  if (typeof address === 'string') return address;
  for (const rule of rules) {
    const violation = rule(address);
    if (violation !== null) return violation;
  }
  return null;
}

/** The address that a value is, or why rules about addresses cannot judge it. */
function addressIn(value: string, needsScheme: boolean): ProxyAddress | string {
  const parsed = parseAddress(value, ASSUMED_SCHEME);
  if ('reason' in parsed) return 'has no address to judge by';
  if (readsOtherwise(value, parsed.address.host)) return 'has an address that can be read in two ways';
  if (needsScheme && parsed.address.scheme === ASSUMED_SCHEME && !NAMES_ASSUMED_SCHEME.test(value)) {
    return 'has no scheme to judge by';
  }
  return parsed.address;
}

/**
 * Whether URL parsers see another host: they end it at the first of `/`, `?`, `#` and (for http) `\`, and have it after the
 * last `@`, where lists may have these characters in a password. Nobody knows how a worker reads such a value.
 */
function readsOtherwise(value: string, host: string): boolean {
  if (!value.includes('@')) return false;
  const url = value.includes('://') ? value : `${ASSUMED_SCHEME}://${value}`;
  return URL.canParse(url) && new URL(url).hostname.toLowerCase() !== host;
}

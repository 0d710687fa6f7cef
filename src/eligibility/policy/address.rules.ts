import { ValidationFailedError } from '../../errors/domain.errors.js';
import type { ProxyAddress } from '../../pool/lists/proxy.address.js';
import type { AddressRange } from './address.range.js';
import { hostAddressOf } from './host.address.js';
import type { Policy } from './policy.settings.js';
import { readPorts } from './port.range.js';
import { readRange } from './range.reader.js';

/** Says why an address is not fit, or null; never shows a part of it. */
export type AddressRule = (address: ProxyAddress) => string | null;

/**
 * The rules of a policy that look at the address of a proxy.
 *
 * @throws ValidationFailedError for a range that `policySchema` would refuse
 */
export function compileAddressRules(policy: Policy): AddressRule[] {
  return [schemeRule(policy), portRule(policy), credentialsRule(policy), hostRule(policy)].filter(
    (rule) => rule !== null,
  );
}

function schemeRule({ schemes }: Policy): AddressRule | null {
  if (!schemes) return null;
  const allowed: ReadonlySet<string> = new Set(schemes);
  return ({ scheme }) => (allowed.has(scheme) ? null : 'has a scheme that is not allowed');
}

function portRule({ ports }: Policy): AddressRule | null {
  if (!ports) return null;
  const ranges = ports.map(readPorts).filter((range) => range !== undefined);
  return ({ port }) =>
    ranges.some(({ first, last }) => first <= port && port <= last) ? null : 'has a port that is not allowed';
}

function credentialsRule({ credentials }: Policy): AddressRule | null {
  if (credentials === 'required') {
    return ({ username }) => (username === undefined ? 'has no user name, which is required' : null);
  }
  if (credentials === 'forbidden') {
    return ({ username }) => (username === undefined ? null : 'has a user name, which is forbidden');
  }
  return null;
}

function hostRule({ allow = [], deny = [], hostnames }: Policy): AddressRule | null {
  if (allow.length === 0 && deny.length === 0 && hostnames !== 'forbid') return null;
  const allowed = rangesOf(allow, 'allow');
  const denied = rangesOf(deny, 'deny');
  return ({ host }) => {
    const address = hostAddressOf(host);
    if (!address) return nameViolation(allowed, hostnames);
    for (const one of address.all) {
      const found = denied.find((range) => range.holds(one));
      if (found) return `has an address in the denied range ${found.text}`;
    }
    const passes = allowed.length === 0 || allowed.some((range) => range.holds(address.own));
    return passes ? null : 'has an address that is in no allowed range';
  };
}

function nameViolation(allowed: readonly AddressRange[], hostnames: Policy['hostnames']): string | null {
  if (hostnames === 'forbid') return 'has a host name, which is forbidden';
  return allowed.length > 0 ? 'has a host name, which is in no allowed range' : null;
}

function rangesOf(texts: readonly string[], field: string): AddressRange[] {
  return texts.map((text, index) => {
    const range = readRange(text);
    if (!('reason' in range)) return range;
    const path = `${field}.${index}`;
    throw new ValidationFailedError(`"${path}": ${range.reason}.`, [{ path, message: range.reason }]);
  });
}

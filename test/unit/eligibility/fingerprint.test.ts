import { expect, test } from '@jest/globals';
import { fingerprintOf } from '../../../src/eligibility/rules/fingerprint.js';
import type { Policy } from '../../../src/eligibility/policy/policy.settings.js';

const policy: Policy = {
  schemes: ['http'],
  deny: ['special', '192.0.2.0/24'],
  labels: { required: { country: ['DE', 'FR'], tier: 1 }, forbidden: { banned: true } },
};

test('the fingerprint is the same in whatever order the keys stand, and whatever is undefined', () => {
  const reordered: Policy = {
    labels: { forbidden: { banned: true }, required: { tier: 1, country: ['DE', 'FR'] } },
    deny: ['special', '192.0.2.0/24'],
    allow: undefined,
    schemes: ['http'],
  };
  expect(fingerprintOf(reordered)).toBe(fingerprintOf(policy));
});

test('the fingerprint is the same in every release, so that stored ones stay valid', () => {
  expect(fingerprintOf(policy)).toBe('e0a10f5c89c53429');
});

test('every change of the policy changes the fingerprint', () => {
  const changed: Policy[] = [
    policy,
    {},
    { ...policy, schemes: ['https'] },
    { ...policy, deny: ['special'] },
    { ...policy, deny: undefined, allow: policy.deny },
    { ...policy, hostnames: 'forbid' },
    { ...policy, labels: { required: policy.labels?.forbidden, forbidden: policy.labels?.required } },
    { ...policy, labels: { ...policy.labels, required: { country: ['DE', 'FR'], tier: '1' } } },
    { ...policy, labels: { ...policy.labels, required: { country: ['DE'], tier: 1 } } },
  ];
  expect(new Set(changed.map(fingerprintOf)).size).toBe(changed.length);
});

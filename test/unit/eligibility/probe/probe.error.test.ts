import { expect, test } from '@jest/globals';
import { ProbeError, networkError } from '../../../../src/eligibility/probe/probe.error.js';

const coded = (code?: unknown) => Object.assign(new Error('s3cret'), { code });

test.each([
  ['ECONNREFUSED', 'refused'],
  ['ETIMEDOUT', 'unreachable'],
  ['EHOSTUNREACH', 'unreachable'],
  ['ENETUNREACH', 'unreachable'],
  ['ECONNRESET', 'closed'],
  ['EPIPE', 'closed'],
  ['ENOTFOUND', 'unresolved'],
  ['EAI_AGAIN', 'unresolved'],
  ['EMFILE', 'local'],
  ['EADDRNOTAVAIL', 'local'],
  ['CERT_HAS_EXPIRED', 'tls'],
])('%s means %s', (code, reason) => {
  expect(networkError(coded(code), 'TLS to the proxy', 'tls')).toMatchObject({
    reason,
    message: `TLS to the proxy failed (${code}).`,
  });
});

test.each([[undefined], ['s3cret'], ['S3CRET WORDS'], [7]])('the code %p is not shown', (code) => {
  expect(networkError(coded(code), 'The request', 'protocol')).toMatchObject({
    reason: 'protocol',
    message: 'The request failed.',
  });
});

test('what is known already stays', () => {
  const known = new ProbeError('tunnel', 'The proxy made no connection to the target (status 502).');
  expect(networkError(known, 'The request', 'protocol')).toBe(known);
});

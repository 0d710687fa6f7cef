import { describe, expect, test } from '@jest/globals';
import { type Policy, policySchema } from '../../../../src/eligibility/policy/policy.settings.js';
import { parseInput } from '../../../../src/errors/parse.input.js';
import { openApiOf } from '../../../../src/http/operation.decorator.js';
import { PROXY_SCHEMES } from '../../../../src/pool/lists/member.list.js';

const labels = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`l${n}`, n]));
const ranges = (count: number) => Array.from({ length: count }, (_, n) => `192.0.2.${n % 256}`);

/** Path and message of all that is wrong. */
function problemsOf(policy: unknown): [path: string, message: string][] {
  const { error } = policySchema.safeParse(policy);
  return (error?.issues ?? []).map(({ path, message }) => [path.join('.'), message]);
}

describe('a policy', () => {
  test.each<[string, Policy]>([
    ['no rule', {}],
    ['every scheme', { schemes: [...PROXY_SCHEMES] }],
    ['ports as numbers, texts and ranges', { ports: [1, 65_535, '3128', '8000-8999', '80-80'] }],
    ['64 ports', { ports: Array.from({ length: 64 }, (_, n) => n + 1) }],
    [
      'addresses, ranges and ready lists',
      { allow: ['192.0.2.1', '2001:db8::1', 'private'], deny: ['0.0.0.0/0', '::/0', '2001:DB8:0::/32', 'special'] },
    ],
    ['1,000 ranges', { deny: ranges(1_000) }],
    ['a range wider than that of mapped addresses', { deny: ['::/64'] }],
    ['names forbidden', { hostnames: 'forbid' }],
    ['names allowed', { hostnames: 'allow' }],
    [
      'labels of every kind',
      {
        labels: { required: { a: true, b: false, c: 'x', d: 1.5, e: ['x', 1, true] }, forbidden: { constructor: '' } },
      },
    ],
    ['32 labels each', { labels: { required: labels(32), forbidden: labels(32) } }],
    ['credentials required', { credentials: 'required' }],
    ['credentials forbidden', { credentials: 'forbidden' }],
  ])('may have %s, and is kept as written', (_name, policy) => {
    expect(policySchema.parse(policy)).toEqual(policy);
  });

  test.each<[unknown, string]>([
    [{ unknown: 1 }, ''],
    [{ schemes: [] }, 'schemes'],
    [{ schemes: Array.from({ length: 17 }, () => 'http') }, 'schemes'],
    [{ schemes: ['http', 'socks'] }, 'schemes.1'],
    [{ ports: [] }, 'ports'],
    [{ ports: Array.from({ length: 65 }, (_, n) => n + 1) }, 'ports'],
    [{ ports: [80, 0] }, 'ports.1'],
    [{ ports: [65_536] }, 'ports.0'],
    [{ ports: [80.5] }, 'ports.0'],
    [{ ports: ['9000-8000'] }, 'ports.0'],
    [{ ports: ['0-80'] }, 'ports.0'],
    [{ ports: ['1-65536'] }, 'ports.0'],
    [{ ports: ['80-'] }, 'ports.0'],
    [{ ports: ['-80'] }, 'ports.0'],
    [{ ports: ['1-2-3'] }, 'ports.0'],
    [{ ports: ['8000 - 8999'] }, 'ports.0'],
    [{ ports: [''] }, 'ports.0'],
    [{ ports: [null] }, 'ports.0'],
    [{ ports: ['0'.repeat(16) + '1'] }, 'ports.0'],
    [{ allow: [] }, 'allow'],
    [{ deny: [] }, 'deny'],
    [{ deny: ranges(1_001) }, 'deny'],
    [{ deny: 'private' }, 'deny'],
    [{ deny: [7] }, 'deny.0'],
    [{ hostnames: 'deny' }, 'hostnames'],
    [{ labels: { required: { '': 1 } } }, 'labels.required.'],
    [{ labels: { required: { ['n'.repeat(257)]: 1 } } }, `labels.required.${'n'.repeat(257)}`],
    [{ labels: { required: { n: null } } }, 'labels.required.n'],
    [{ labels: { required: { n: [] } } }, 'labels.required.n'],
    [{ labels: { required: { n: Array.from({ length: 257 }, (_, n) => n) } } }, 'labels.required.n'],
    [{ labels: { required: { n: 'v'.repeat(257) } } }, 'labels.required.n'],
    [{ labels: { required: labels(33) } }, 'labels.required'],
    [{ labels: { forbidden: labels(33) } }, 'labels.forbidden'],
    [{ labels: { forbidden: [] } }, 'labels.forbidden'],
    [{ labels: { optional: {} } }, 'labels'],
    [{ credentials: true }, 'credentials'],
  ])('%# is refused at its field, with what would be right', (policy, path) => {
    const problems = problemsOf(policy);
    expect(problems.map(([at]) => at)).toEqual([path]);
    expect(problems[0]?.[1]).toMatch(/^(must |Unrecognized key: |Too big: expected string to have <=256)/);
  });
});

const RANGE_RULE = 'must be an IP address, a range such as 192.0.2.0/24 or 2001:db8::/32, "private" or "special"';

describe('a range is refused, with what would be right', () => {
  test.each([
    ['', RANGE_RULE],
    ['Private', RANGE_RULE],
    ['constructor', RANGE_RULE],
    ['proxy.example.com', RANGE_RULE],
    ['192.0.2', RANGE_RULE],
    ['192.0.2.0/', RANGE_RULE],
    ['192.0.2.0/024', RANGE_RULE],
    ['192.0.2.0/-1', RANGE_RULE],
    ['192.0.2.0/24/24', RANGE_RULE],
    ['192.0.2.0/255.255.255.0', RANGE_RULE],
    ['192.0.2.0-192.0.2.9', RANGE_RULE],
    ['192.0.2.010', RANGE_RULE],
    ['0xc0.0.2.1', RANGE_RULE],
    ['3221225985', RANGE_RULE],
    [' 192.0.2.0/24', RANGE_RULE],
    ['[2001:db8::1]', RANGE_RULE],
    ['fe80::1%eth0', RANGE_RULE],
    ['2001:db8::g', RANGE_RULE],
    ['192.0.2.0/33', 'must have a prefix from 0 to 32'],
    ['2001:db8::/129', 'must have a prefix from 0 to 128'],
    [
      '192.0.2.7/24',
      'must be 192.0.2.0/24 for the range or 192.0.2.7 for the one address: bits are set after the prefix',
    ],
    ['0.0.0.1/0', 'must be 0.0.0.0/0 for the range or 0.0.0.1 for the one address: bits are set after the prefix'],
    [
      '2001:DB8::7/32',
      'must be 2001:db8::/32 for the range or 2001:db8::7 for the one address: bits are set after the prefix',
    ],
    ['::ffff:192.0.2.1', 'must be 192.0.2.1/32: an IPv4-mapped address counts as IPv4'],
    ['::ffff:192.0.2.0/120', 'must be 192.0.2.0/24: an IPv4-mapped address counts as IPv4'],
    ['::ffff:0:0/96', 'must be 0.0.0.0/0: an IPv4-mapped address counts as IPv4'],
  ])('%s', (range, message) => {
    expect(problemsOf({ deny: ['192.0.2.1', range] })).toEqual([['deny.1', message]]);
  });

  test('at most 64 characters are read', () => {
    expect(problemsOf({ deny: ['1'.repeat(65)] })).toEqual([['deny.0', 'must be at most 64 characters']]);
  });
});

test('the message of an error names the place in the list', () => {
  expect(() => parseInput(policySchema, { deny: ['192.0.2.1', '192.0.2.0/33'] }, 'policy')).toThrow(
    '"policy.deny.1": must have a prefix from 0 to 32.',
  );
});

test('the API document describes every rule', () => {
  const { properties = {} } = openApiOf(policySchema);
  expect(Object.keys(properties)).toEqual(Object.keys(policySchema.shape));
  for (const rule of Object.values(properties))
    expect(rule).toMatchObject({ description: expect.stringMatching(/\S/) });
});

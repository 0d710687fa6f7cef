import { describe, expect, test } from '@jest/globals';
import { compilePolicy } from '../../../../src/eligibility/policy/policy.rules.js';
import type { Policy } from '../../../../src/eligibility/policy/policy.settings.js';
import type { Labels } from '../../../../src/pool/member.js';

function violationOf(policy: Policy, value: string, labels: Labels = {}): string | null {
  return compilePolicy(policy).violation({ id: 'member', value, labels });
}

describe('schemes', () => {
  const policy: Policy = { schemes: ['http', 'socks5'] };

  test.each(['http://192.0.2.7:80', 'HTTP://192.0.2.7:80', 'socks5://192.0.2.7:1080', 'socks://192.0.2.7:1080'])(
    '%s passes',
    (value) => {
      expect(violationOf(policy, value)).toBeNull();
    },
  );

  test.each(['https://192.0.2.7:443', 'socks5h://192.0.2.7:1080', 'socks4://192.0.2.7:1080'])(
    '%s does not',
    (value) => {
      expect(violationOf(policy, value)).toBe('has a scheme that is not allowed');
    },
  );

  test('a value that names no scheme cannot be judged by it, and by other rules it can', () => {
    expect(violationOf(policy, '192.0.2.7:80')).toBe('has no scheme to judge by');
    expect(violationOf({ schemes: ['socks5'] }, '192.0.2.7:80')).toBe('has no scheme to judge by');
    expect(violationOf({ ports: [80], allow: ['192.0.2.0/24'] }, '192.0.2.7:80')).toBeNull();
  });
});

describe('ports', () => {
  const policy: Policy = { ports: [80, '443', '8000-8999'] };

  test.each([80, 443, 8_000, 8_500, 8_999])('%d passes', (port) => {
    expect(violationOf(policy, `http://192.0.2.7:${port}`)).toBeNull();
  });

  test.each([79, 81, 442, 444, 7_999, 9_000])('%d does not', (port) => {
    expect(violationOf(policy, `http://192.0.2.7:${port}`)).toBe('has a port that is not allowed');
  });
});

describe('credentials', () => {
  test.each([
    ['required', 'http://bob:secret@192.0.2.7:80', null],
    ['required', 'http://bob@192.0.2.7:80', null],
    ['required', '192.0.2.7:80:bob:secret', null],
    ['required', 'http://192.0.2.7:80', 'has no user name, which is required'],
    ['forbidden', 'http://192.0.2.7:80', null],
    ['forbidden', 'http://bob:secret@192.0.2.7:80', 'has a user name, which is forbidden'],
    ['forbidden', 'http://bob@192.0.2.7:80', 'has a user name, which is forbidden'],
  ] as const)('%s: %s', (credentials, value, violation) => {
    expect(violationOf({ credentials }, value)).toBe(violation);
  });
});

describe('a host that is a name', () => {
  const value = 'http://proxy.example.com:80';

  test('passes where nothing is said of hosts, and past ranges that are denied', () => {
    expect(violationOf({ hostnames: 'allow', ports: [80] }, value)).toBeNull();
    expect(violationOf({ deny: ['0.0.0.0/0', '::/0', 'special'] }, value)).toBeNull();
    expect(violationOf({ deny: ['special'] }, 'http://localhost:80')).toBeNull();
  });

  test('is in no range that is allowed', () => {
    const policy: Policy = { allow: ['0.0.0.0/0', '::/0', 'special'] };
    expect(violationOf(policy, value)).toBe('has a host name, which is in no allowed range');
    expect(violationOf({ ...policy, hostnames: 'allow' }, value)).toBe('has a host name, which is in no allowed range');
  });

  test('can be forbidden, with ranges and without', () => {
    expect(violationOf({ hostnames: 'forbid' }, value)).toBe('has a host name, which is forbidden');
    expect(violationOf({ hostnames: 'forbid', deny: ['private'] }, value)).toBe('has a host name, which is forbidden');
    expect(violationOf({ hostnames: 'forbid' }, 'http://192.0.2.7:80')).toBeNull();
    expect(violationOf({ hostnames: 'forbid' }, 'http://[2001:db8::7]:80')).toBeNull();
  });
});

describe('labels', () => {
  const value = 'sk-key';

  test.each<[string, NonNullable<Policy['labels']>, Labels, string | null]>([
    ['a value is there', { required: { n: 'x' } }, { n: 'x' }, null],
    ['another is there', { required: { n: 'x' } }, { n: 'y' }, 'has none of the required values of the label "n"'],
    ['none is there', { required: { n: 'x' } }, { m: 'x' }, 'lacks the required label "n"'],
    ['one of several is there', { required: { n: ['x', 1] } }, { n: 1 }, null],
    ['none of several is', { required: { n: ['x', 1] } }, { n: 2 }, 'has none of the required values of the label "n"'],
    ['any value will do, even false', { required: { n: true } }, { n: false }, null],
    ['any value will do, and there is none', { required: { n: true } }, {}, 'lacks the required label "n"'],
    ['true alone will do', { required: { n: [true] } }, { n: 1 }, 'has none of the required values of the label "n"'],
    ['a number is no text', { required: { n: 1 } }, { n: '1' }, 'has none of the required values of the label "n"'],
    ['a text is no number', { required: { n: '1' } }, { n: 1 }, 'has none of the required values of the label "n"'],
    ['false is not 0', { required: { n: false } }, { n: 0 }, 'has none of the required values of the label "n"'],
    ['upper case is other', { required: { n: 'x' } }, { n: 'X' }, 'has none of the required values of the label "n"'],
    ['what every object has is no label', { required: { toString: true } }, {}, 'lacks the required label "toString"'],
    ['two are required', { required: { n: 1, m: 2 } }, { n: 1 }, 'lacks the required label "m"'],
    ['a forbidden value is there', { forbidden: { n: 'x' } }, { n: 'x' }, 'has a forbidden value of the label "n"'],
    ['another than the forbidden', { forbidden: { n: 'x' } }, { n: 'y' }, null],
    ['the forbidden label is not there', { forbidden: { n: ['x', 'y'] } }, {}, null],
    ['one of the forbidden', { forbidden: { n: ['x', 1] } }, { n: 1 }, 'has a forbidden value of the label "n"'],
    ['any value is forbidden', { forbidden: { n: true } }, { n: false }, 'has the forbidden label "n"'],
    ['both, and fit', { required: { n: 1 }, forbidden: { m: 1 } }, { n: 1, m: 2 }, null],
    [
      'both, and not',
      { required: { n: 1 }, forbidden: { m: 1 } },
      { n: 1, m: 1 },
      'has a forbidden value of the label "m"',
    ],
    ['a name with a line end', { required: { 'a\n"': 1 } }, {}, 'lacks the required label "a\\n\\""'],
  ])('%s', (_name, labels, has, violation) => {
    expect(violationOf({ labels }, value, has)).toBe(violation);
  });

  test('are judged beside the address', () => {
    const policy: Policy = { labels: { required: { n: 1 } }, ports: [80] };
    expect(violationOf(policy, 'http://192.0.2.7:80', { n: 1 })).toBeNull();
    expect(violationOf(policy, 'http://192.0.2.7:81', { n: 1 })).toBe('has a port that is not allowed');
    expect(violationOf(policy, 'http://192.0.2.7:80')).toBe('lacks the required label "n"');
  });
});

describe('a member that is no proxy', () => {
  test.each<[string, Policy]>([
    ['schemes', { schemes: ['http'] }],
    ['ports', { ports: ['1-65535'] }],
    ['allow', { allow: ['0.0.0.0/0', '::/0'] }],
    ['deny', { deny: ['192.0.2.1'] }],
    ['hostnames', { hostnames: 'forbid' }],
    ['credentials required', { credentials: 'required' }],
    ['credentials forbidden', { credentials: 'forbidden' }],
  ])('has no address to judge by: %s', (_name, policy) => {
    expect(violationOf(policy, 'sk-0123456789')).toBe('has no address to judge by');
  });

  test.each<[string, Policy]>([
    ['no rule', {}],
    ['names allowed', { hostnames: 'allow' }],
    ['labels', { labels: { forbidden: { banned: true } } }],
  ])('passes where no rule needs one: %s', (_name, policy) => {
    expect(violationOf(policy, 'sk-0123456789')).toBeNull();
  });
});

describe('a value that URL parsers read in another way has no address to judge by', () => {
  const policy: Policy = { allow: ['192.0.2.0/24'] };

  test.each([
    'http://198.51.100.9:80/@192.0.2.7:80',
    'http://198.51.100.9:80\\@192.0.2.7:80',
    'http://198.51.100.9?@192.0.2.7:80',
    'http://198.51.100.9#@192.0.2.7:80',
    'socks5://198.51.100.9:1080/@192.0.2.7:80',
    'internal:80/@192.0.2.7:80',
    '192.0.2.7:80:bob:p@198.51.100.9',
    '192.0.2.7:80:bob:p@198.51.100.9:80',
    'http://192.0.2.7:80:bob:p@198.51.100.9',
  ])('%s', (value) => {
    expect(violationOf(policy, value)).toBe('has an address that can be read in two ways');
  });

  test.each([
    'http://bob:p%40s%2Fs@192.0.2.7:80',
    'socks5://bob:p%40s%2Fs@192.0.2.7:1080',
    'http://bob:p@ss@192.0.2.7:80',
    'bob:p/ss@192.0.2.7:80',
    '192.0.2.7:80:bob:pass',
  ])('%s is read in one', (value) => {
    expect(violationOf(policy, value)).toBeNull();
  });

  test('names and IPv6 addresses are the same in either reading', () => {
    expect(violationOf({ deny: ['private'] }, 'socks5://bob:p@PROXY.Example.com:1080')).toBeNull();
    expect(violationOf({ allow: ['2001:db8::/32'] }, 'socks5h://bob:p@[2001:DB8::7]:1080')).toBeNull();
  });
});

test('an empty policy lets everything pass, and so does an empty list of allowed ranges', () => {
  expect(violationOf({}, 'http://192.0.2.7:80')).toBeNull();
  expect(violationOf({ allow: [] }, 'http://192.0.2.7:80')).toBeNull();
  expect(violationOf({ allow: [] }, 'http://proxy.example.com:80')).toBeNull();
});

test('no reason shows a part of the value', () => {
  const values = ['http://robert:hunter2@203.0.113.77:8123', 'http://robert:hunter2@secret-gateway.example.com:8123'];
  const others = ['robert:hunter2', 'sk-hunter2', 'secret-gateway:80/@203.0.113.77:8123', '203.0.113.77:8123'];
  const policies: Policy[] = [
    { schemes: ['socks5'] },
    { ports: [1] },
    { allow: ['192.0.2.1'] },
    { deny: ['203.0.113.0/24', '2001:db8::/32'] },
    { hostnames: 'forbid' },
    { credentials: 'required' },
    { credentials: 'forbidden' },
    { labels: { required: { country: 'DE' } } },
  ];
  const reasons = policies.flatMap((policy) => [...values, ...others].map((value) => violationOf(policy, value)));
  expect(new Set(reasons).size).toBeGreaterThan(9);
  for (const reason of reasons) expect(reason ?? '').not.toMatch(/robert|hunter2|203\.0\.113\.77|8123|secret-gateway/);
});

test('a policy that was never checked is refused when it is compiled, at the place of the range', () => {
  expect(() => compilePolicy({ deny: ['192.0.2.1', '192.0.2.0/33'] })).toThrow(
    expect.objectContaining({
      code: 'VALIDATION_FAILED',
      problems: [{ path: 'deny.1', message: 'must have a prefix from 0 to 32' }],
    }),
  );
});

import { readFileSync } from 'node:fs';
import { BlockList } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { compilePolicy } from '../../../../src/eligibility/policy/policy.rules.js';
import type { Policy } from '../../../../src/eligibility/policy/policy.settings.js';

// The addresses in this file are only compared. Those outside the ranges for documentation stand at the edges of other ranges.

function isFit(policy: Policy, address: string): boolean {
  const host = address.includes(':') ? `[${address}]` : address;
  return compilePolicy(policy).violation({ id: 'member', value: `http://${host}:80`, labels: {} }) === null;
}

const isDenied = (range: string, address: string) => !isFit({ deny: [range] }, address);
const isAllowed = (range: string, address: string) => isFit({ allow: [range] }, address);

const bytes = (length: number) => fc.array(fc.integer({ min: 0, max: 255 }), { minLength: length, maxLength: length });
/** An address, and another that has some of its first bits. */
const near = (length: number) =>
  fc
    .tuple(bytes(length), bytes(length), fc.integer({ min: 0, max: length }), fc.integer({ min: 0, max: length * 8 }))
    .map(([one, other, shared, prefix]) => ({
      one,
      other: [...one.slice(0, shared), ...other.slice(shared)],
      prefix,
    }));

describe('a range holds its addresses and no others', () => {
  test.each([
    ['192.0.2.0/24', ['192.0.2.0', '192.0.2.255'], ['192.0.1.255', '192.0.3.0']],
    ['192.0.2.128/25', ['192.0.2.128', '192.0.2.255'], ['192.0.2.127', '192.0.3.0']],
    ['128.0.0.0/1', ['128.0.0.0', '198.51.100.1', '255.255.255.255'], ['127.255.255.255', '0.0.0.0']],
    ['192.0.2.7/32', ['192.0.2.7'], ['192.0.2.6', '192.0.2.8']],
    ['192.0.2.7', ['192.0.2.7'], ['192.0.2.6', '192.0.2.8']],
    ['0.0.0.0/0', ['0.0.0.0', '255.255.255.255'], ['2001:db8::7', '::1']],
    ['::/0', ['::', '2001:db8::7', 'ffff::'], ['0.0.0.0', '192.0.2.7']],
    ['2001:db8::/32', ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'], ['2001:db7:ffff::', '2001:db9::']],
    ['2001:db8::/33', ['2001:db8:7fff::1'], ['2001:db8:8000::']],
    ['2001:db8:0:0:8000::/65', ['2001:db8:0:0:8000::1'], ['2001:db8:0:0:7fff::', '2001:db8:0:1:8000::']],
    ['2001:db8::7', ['2001:db8::7', '2001:DB8:0:0::7'], ['2001:db8::6', '2001:db8::8']],
    ['2001:DB8::/127', ['2001:db8::', '2001:db8::1'], ['2001:db8::2']],
  ])('%s', (range, inside, outside) => {
    for (const address of inside) {
      expect([address, isDenied(range, address), isAllowed(range, address)]).toEqual([address, true, true]);
    }
    for (const address of outside) {
      expect([address, isDenied(range, address), isAllowed(range, address)]).toEqual([address, false, false]);
    }
  });

  // Addresses of 2001:db8::/32 hold no IPv4 address, which is a matter of its own.
  test.each([
    ['ipv4', 4, []],
    ['ipv6', 16, [0x20, 0x01, 0x0d, 0xb8]],
  ] as const)('just as Node judges it: %s', (family, length, start) => {
    fc.assert(
      fc.property(near(length - start.length), ({ one, other, prefix }) => {
        const [first, second] = [one, other].map((rest) => ipaddr.fromByteArray([...start, ...rest]).toString());
        const bits = start.length * 8 + prefix;
        const kind = family === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6;
        const network = kind.networkAddressFromCIDR(`${first!}/${bits}`).toString();
        const judge = new BlockList();
        judge.addSubnet(network, bits, family);
        const expected = judge.check(second!, family);
        expect(isDenied(`${network}/${bits}`, second!)).toBe(expected);
        expect(isAllowed(`${network}/${bits}`, second!)).toBe(expected);
      }),
      { numRuns: 500 },
    );
  });
});

describe('deny and allow', () => {
  test('deny wins', () => {
    const policy: Policy = { allow: ['192.0.2.0/24'], deny: ['192.0.2.128/25', '192.0.2.7'] };
    expect(['192.0.2.1', '192.0.2.7', '192.0.2.200'].map((address) => isFit(policy, address))).toEqual([
      true,
      false,
      false,
    ]);
  });

  test('one of several ranges is enough', () => {
    const ranges = ['192.0.2.0/24', '2001:db8::/32'];
    for (const address of ['192.0.2.7', '2001:db8::7']) {
      expect(isFit({ allow: ranges }, address)).toBe(true);
      expect(isFit({ deny: ranges }, address)).toBe(false);
    }
    expect(isFit({ allow: ranges }, '198.51.100.7')).toBe(false);
    expect(isFit({ deny: ranges }, '198.51.100.7')).toBe(true);
  });

  test('the reason names the range that is denied', () => {
    const rules = compilePolicy({ deny: ['198.51.100.0/24', '192.0.2.0/24', 'private'] });
    const reasonOf = (value: string) => rules.violation({ id: 'member', value, labels: {} });
    expect(reasonOf('http://192.0.2.7:80')).toBe('has an address in the denied range 192.0.2.0/24');
    expect(reasonOf('http://127.0.0.1:80')).toBe('has an address in the denied range private');
    expect(reasonOf('http://203.0.113.7:80')).toBeNull();
  });
});

/** The ready lists as docs/policy.md spells them out. */
function documented(list: string): string[] {
  const docs = readFileSync(new URL('../../../../docs/policy.md', import.meta.url), 'utf8');
  const row = docs.split('\n').find((line) => line.startsWith(`| \`${list}\` |`))!;
  return [...row.matchAll(/`([\da-f.:]+(?:\/\d+)?)`/g)].map(([, range]) => range!);
}

test('the ready lists hold what the documentation says', () => {
  const ranges = { private: documented('private'), special: [...documented('private'), ...documented('special')] };
  expect([ranges.private.length, ranges.special.length]).toEqual([9, 9 + 11 + 6]);
  const judges = Object.entries(ranges).map(([list, all]) => {
    const judge = new BlockList();
    for (const range of all.filter((one) => one !== '2000::/3')) {
      const [address, bits] = ipaddr.parseCIDR(range.includes('/') ? range : `${range}/128`);
      judge.addSubnet(address.toString(), bits, address.kind());
    }
    return { list, judge };
  });
  const network = fc.constantFrom(...ranges.special).map((range) => ipaddr.parse(range.split('/')[0]!).toByteArray());
  const address = network.chain((start) =>
    fc
      .tuple(fc.integer({ min: 0, max: start.length }), bytes(start.length))
      .map(([shared, other]) => [...start.slice(0, shared), ...other.slice(shared)]),
  );
  fc.assert(
    fc.property(address, (parts) => {
      const parsed = ipaddr.fromByteArray(parts);
      fc.pre(parsed.range() !== 'ipv4Mapped');
      const outside = parsed.kind() === 'ipv6' && ((parts[0] ?? 0) & 0xe0) !== 0x20;
      for (const { list, judge } of judges) {
        const expected = judge.check(parsed.toString(), parsed.kind()) || (outside && list === 'special');
        expect([list, parsed.toString(), isAllowed(list, parsed.toString())]).toEqual([
          list,
          parsed.toString(),
          expected,
        ]);
      }
    }),
    { numRuns: 2_000 },
  );
});

describe('the ready lists', () => {
  /** First and last address of ranges. */
  const PRIVATE = [
    ['10.0.0.0', '10.255.255.255'],
    ['172.16.0.0', '172.31.255.255'],
    ['192.168.0.0', '192.168.255.255'],
    ['127.0.0.0', '127.255.255.255'],
    ['169.254.0.0', '169.254.255.255'],
    ['100.64.0.0', '100.127.255.255'],
    ['::1'],
    ['fe80::', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ].flat();
  const SPECIAL_ONLY = [
    ['0.0.0.0', '0.255.255.255'],
    ['192.0.0.0', '192.0.0.255'],
    ['192.0.2.0', '192.0.2.255'],
    ['192.31.196.0', '192.52.193.0', '192.175.48.0'],
    ['192.88.99.0', '192.88.99.255'],
    ['198.18.0.0', '198.19.255.255'],
    ['198.51.100.0', '203.0.113.255'],
    ['224.0.0.0', '239.255.255.255'],
    ['240.0.0.0', '255.255.255.255'],
    ['::', '::2', '4000::1', '1fff::', 'e000::1'],
    ['64:ff9b::1', '64:ff9b:1::1', '100::1', '2001::1', '2001:2::1', '2001:10::1', '2001:20::1', '2001:db8::1'],
    ['2002::1', '2620:4f:8000::1', '3fff::1', '5f00::1', 'fec0::1', 'ff02::1', '::ffff:0:1:1'],
  ].flat();
  const GLOBAL = [
    ['1.0.0.0', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255', '128.0.0.0'],
    ['169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0', '192.167.255.255', '192.169.0.0'],
    ['198.17.255.255', '198.20.0.0', '223.255.255.255'],
    ['2000::1', '2001:200::1', '2003::1', '3ffe::1'],
  ].flat();

  test.each([...PRIVATE, ...SPECIAL_ONLY, ...GLOBAL])('%s', (address) => {
    expect(isDenied('private', address)).toBe(PRIVATE.includes(address));
    expect(isDenied('special', address)).toBe(!GLOBAL.includes(address));
    expect(isAllowed('private', address)).toBe(PRIVATE.includes(address));
    expect(isAllowed('special', address)).toBe(!GLOBAL.includes(address));
  });
});

/** How IPv6 addresses may hold 192.0.2.1, which is c000:0201. */
const EMBEDDED: [kind: string, address: string][] = [
  ['IPv4-mapped', '::ffff:192.0.2.1'],
  ['IPv4-mapped, in hexadecimal', '::ffff:c000:201'],
  ['IPv4-mapped, at full length', '0:0:0:0:0:FFFF:C000:0201'],
  ['IPv4-compatible', '::192.0.2.1'],
  ['IPv4-translated', '::ffff:0:192.0.2.1'],
  ['NAT64', '64:ff9b::192.0.2.1'],
  ['NAT64 of a network with a prefix of 96 bits', '64:ff9b:1:7::192.0.2.1'],
  ['NAT64 of a network with a prefix of 64 bits', '64:ff9b:1:7:c0:2:100::'],
  ['NAT64 of a network with a prefix of 56 bits', '64:ff9b:1:7c0:0:201::'],
  ['NAT64 of a network with a prefix of 48 bits', '64:ff9b:1:c000:2:100::'],
  ['6to4', '2002:c000:201::7'],
  ['the server of Teredo', '2001:0:c000:201:0:ffff:34ff:8ef8'],
  ['the client of Teredo', '2001:0:cb00:7107:0:ffff:3fff:fdfe'],
];

describe('an IPv4 address within an IPv6 address', () => {
  test.each(EMBEDDED)('does not get past a deny: %s', (_kind, address) => {
    expect(isDenied('192.0.2.0/24', address)).toBe(true);
    expect(isDenied('192.0.2.1', address)).toBe(true);
    expect(isDenied('198.51.100.0/24', address)).toBe(false);
    expect(isDenied('192.0.2.2', address)).toBe(false);
    expect(isDenied('special', address)).toBe(true);
    expect(isFit({ allow: ['::/0', '192.0.2.0/24'], deny: ['192.0.2.1'] }, address)).toBe(false);
  });

  test.each(EMBEDDED)('is no way into what is allowed, except where it is mapped: %s', (kind, address) => {
    const mapped = kind.startsWith('IPv4-mapped');
    expect(isAllowed('192.0.2.0/24', address)).toBe(mapped);
    expect(isAllowed('::/0', address)).toBe(!mapped);
  });

  test.each(EMBEDDED)('is denied by a range that holds the IPv6 address: %s', (_kind, address) => {
    expect(isDenied('::/0', address)).toBe(true);
  });

  test.each(['::ffff:127.0.0.1', '64:ff9b::10.0.0.1', '2002:a9fe:a9fe::1', '::192.168.0.1'])(
    'does not get past the private ones: %s',
    (address) => {
      expect(isDenied('private', address)).toBe(true);
    },
  );

  test('is judged by itself where it is mapped', () => {
    expect(isDenied('special', '::ffff:11.0.0.1')).toBe(false);
    expect(isDenied('private', '::ffff:11.0.0.1')).toBe(false);
    expect(isAllowed('private', '::ffff:10.0.0.1')).toBe(true);
    expect(isAllowed('special', '::ffff:11.0.0.1')).toBe(false);
  });

  test('is looked for in those addresses only', () => {
    expect(isDenied('192.0.2.1', '2001:db8::192.0.2.1')).toBe(false);
    expect(isDenied('192.0.2.1', '2003:c000:201::7')).toBe(false);
    expect(isDenied('192.0.2.1', '::fffe:192.0.2.1')).toBe(false);
    expect(isDenied('192.0.2.1', '64:ff9a::192.0.2.1')).toBe(false);
    expect(isDenied('0.0.0.0/8', '::')).toBe(false);
    expect(isDenied('0.0.0.0/8', '::1')).toBe(false);
  });
});

test('no list of ipaddr.js changes its ranges unnoticed', () => {
  const namesOf = (prototype: object) =>
    Object.keys((prototype as { SpecialRanges: Record<string, unknown> }).SpecialRanges).sort();
  expect(namesOf(ipaddr.IPv4.prototype)).toEqual([
    'amt',
    'as112',
    'broadcast',
    'carrierGradeNat',
    'linkLocal',
    'loopback',
    'multicast',
    'private',
    'reserved',
    'unspecified',
  ]);
  expect(namesOf(ipaddr.IPv6.prototype)).toEqual([
    '6to4',
    'amt',
    'as112v6',
    'benchmarking',
    'deprecatedOrchid',
    'deprecatedSiteLocal',
    'discard',
    'droneRemoteIdProtocolEntityTags',
    'ipv4Mapped',
    'linkLocal',
    'loopback',
    'multicast',
    'orchid2',
    'reserved',
    'rfc6052',
    'rfc6145',
    'segmentRouting',
    'teredo',
    'uniqueLocal',
    'unspecified',
  ]);
});

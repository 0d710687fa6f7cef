import { describe, expect, test } from '@jest/globals';
import { PROXY_SCHEMES } from '../../../src/pool/lists/member.list.js';
import { memberOf, reasonOf, tagOf } from './list.reading.js';

const HOSTS = ['192.0.2.7', 'proxy.example.com', '[2001:db8::7]'];
const PREFIXES: [prefix: string, scheme: string][] = [
  ['', 'http'],
  ...PROXY_SCHEMES.flatMap((scheme): [string, string][] => [
    [`${scheme}://`, scheme],
    [`${scheme.toUpperCase()}://`, scheme],
  ]),
  ['socks://', 'socks5'],
  ['SOCKS://', 'socks5'],
  ['Socks5H://', 'socks5h'],
];
const CASES = PREFIXES.flatMap(([prefix, scheme]) => HOSTS.map((host) => ({ prefix, scheme, host })));

describe.each(CASES)('$prefix with $host', ({ prefix, scheme, host }) => {
  const tag = tagOf('pass');

  test('host:port', () => {
    const address = `${scheme}://${host}:8080`;
    expect(memberOf('text', `${prefix}${host}:8080`)).toEqual({ id: address, value: address });
  });

  test.each([
    ['user:pass@host:port', `user:pass@${host}:8080`],
    ['host:port:user:pass', `${host}:8080:user:pass`],
  ])('%s', (_form, text) => {
    expect(memberOf('text', prefix + text)).toEqual({
      id: `${scheme}://user@${host}:8080#${tag}`,
      value: `${scheme}://user:pass@${host}:8080`,
    });
  });

  test('a user alone', () => {
    const address = `${scheme}://user@${host}:8080`;
    expect(memberOf('text', `${prefix}user@${host}:8080`)).toEqual({ id: address, value: address });
  });

  test('a third field is kept as the note', () => {
    expect(memberOf('text', `${prefix}${host}:8080:elite`)).toEqual({
      id: `${scheme}://${host}:8080`,
      value: `${scheme}://${host}:8080`,
      labels: { note: 'elite' },
    });
  });
});

test.each(PROXY_SCHEMES)('an entry that names no scheme takes the default, here %s', (defaultScheme) => {
  expect(memberOf('text', '192.0.2.7:80', { defaultScheme }).id).toBe(`${defaultScheme}://192.0.2.7:80`);
  expect(memberOf('text', 'https://192.0.2.7:80', { defaultScheme }).id).toBe('https://192.0.2.7:80');
});

/** What `new URL()` and decoding make of the value. */
function credentialsOf(text: string): [user: string, password: string] {
  const { username, password } = new URL(memberOf('text', text).value ?? '');
  return [decodeURIComponent(username), decodeURIComponent(password)];
}

describe('a password', () => {
  test.each([
    ['bob:p@ss@192.0.2.7:80', 'p@ss'],
    ['bob:p:a:s:s@192.0.2.7:80', 'p:a:s:s'],
    ['bob:p@s:s@192.0.2.7:80', 'p@s:s'],
    ['bob:@:@192.0.2.7:80', '@:'],
    ['bob:p@ss@proxy.example.com:80', 'p@ss'],
    ['bob:p@ss:w@[2001:db8::7]:80', 'p@ss:w'],
    ['http://bob:p@s:s@192.0.2.7:80', 'p@s:s'],
    ['http://bob:p%40s%3As@192.0.2.7:80', 'p@s:s'],
    ['http://bob:p/a?s#s@192.0.2.7:80', 'p/a?s#s'],
    ['http://bob:100%@192.0.2.7:80', '100%'],
    ['http://bob:%E4@192.0.2.7:80', '%E4'],
    ['bob:p%40s@192.0.2.7:80', 'p%40s'],
    ['192.0.2.7:80:bob:p@s:s', 'p@s:s'],
    ['192.0.2.7:80:bob:p@192.0.2.9:81', 'p@192.0.2.9:81'],
    ['[2001:db8::7]:80:bob:p@s:s', 'p@s:s'],
    ['proxy.example.com:80:bob:p:s', 'p:s'],
    ['proxy.example.com:80:bob:p@ss', 'p@ss'],
    ['http://192.0.2.7:80:bob:p@ss', 'p@ss'],
    ['bob:пароль€@192.0.2.7:80', 'пароль€'],
  ])('%s', (text, password) => {
    expect(credentialsOf(text)).toEqual(['bob', password]);
  });

  test('that is empty is none', () => {
    const address = 'http://bob@192.0.2.7:80';
    expect(memberOf('text', 'http://bob:@192.0.2.7:80')).toEqual({ id: address, value: address });
  });

  test('is not in the id, and tells members apart', () => {
    const ids = ['one', 'two', 'one'].map((password) => memberOf('text', `bob:${password}@192.0.2.7:80`).id);
    expect(ids[0]).toBe(`http://bob@192.0.2.7:80#${tagOf('one')}`);
    expect(ids[1]).toBe(`http://bob@192.0.2.7:80#${tagOf('two')}`);
    expect(ids[2]).toBe(ids[0]);
  });
});

describe('the id is canonical', () => {
  test.each([
    ['HTTP://PROXY.Example.COM:080', 'http://proxy.example.com:80'],
    ['http://192.0.2.7:80', 'http://192.0.2.7:80'],
    ['https://192.0.2.7:443', 'https://192.0.2.7:443'],
    ['socks5://192.0.2.7:1080/', 'socks5://192.0.2.7:1080'],
    ['http://192.0.2.7:80/path?a=b#c', 'http://192.0.2.7:80'],
    ['[2001:0DB8:0:0:0:0:0:7]:80', 'http://[2001:db8::7]:80'],
    ['http://[2001:DB8::7]:80', 'http://[2001:db8::7]:80'],
    ['us er@192.0.2.7:80', undefined],
    ['us%20er@192.0.2.7:80', 'http://us%2520er@192.0.2.7:80'],
    ['http://us%20er@192.0.2.7:80', 'http://us%20er@192.0.2.7:80'],
    ['User@192.0.2.7:80', 'http://User@192.0.2.7:80'],
    ['xn--bcher-kva.example.com:80', 'http://xn--bcher-kva.example.com:80'],
    ['my_proxy:65535', 'http://my_proxy:65535'],
  ])('%s', (text, id) => {
    if (id === undefined) expect(reasonOf('text', text)).toBe('no host:port found');
    else expect(memberOf('text', text).id).toBe(id);
  });
});

describe('what is no address is rejected, with a reason that shows nothing of it', () => {
  test.each([
    ['prose', 'no host:port found'],
    ['192.0.2.7', 'no host:port found'],
    ['192.0.2.7:', 'no host:port found'],
    ['http://192.0.2.7', 'no host:port found'],
    ['proxy.example.com:', 'no host:port found'],
    [':8080', 'no host before the port'],
    ['192.0.2.7:0', 'the port is not between 1 and 65535'],
    ['192.0.2.7:65536', 'the port is not between 1 and 65535'],
    ['192.0.2.7:99999999999999999999', 'the port is not between 1 and 65535'],
    ['192.0.2.7:80x', 'the port is not a decimal number'],
    ['192.0.2.7:-1', 'the port is not a decimal number'],
    ['192.0.2.7:0x50', 'the port is not a decimal number'],
    ['192.0.2.7:٨٠', 'the port is not a decimal number'],
    ['192.0.2.256:80', 'the host is not a valid IPv4 address'],
    ['192.0.2:80', 'the host is not a valid IPv4 address'],
    ['192.000.002.007:80', 'the host is not a valid IPv4 address'],
    ['0x7f.1:80', 'the host is not a valid IPv4 address'],
    ['12:30', 'the host is not a valid IPv4 address'],
    ['2001:db8::7', 'an IPv6 address must stand in brackets, with a port after them'],
    ['[2001:db8::7]', 'no host:port found'],
    ['[2001:db8::g]:80', 'what stands in brackets is not a valid IPv6 address'],
    ['[192.0.2.7]:80', 'what stands in brackets is not a valid IPv6 address'],
    ['[fe80::1%eth0]:80', 'what stands in brackets is not a valid IPv6 address'],
    ['[2001:db8::7:80', 'what stands in brackets is not a valid IPv6 address'],
    ['-a.example.com:80', 'the host is not a valid host name'],
    ['a..example.com:80', 'the host is not a valid host name'],
    ['bücher.example.com:80', 'the host is not a valid host name'],
    ['xn--a.example.com:80', 'the host is not a valid host name'],
    [`${'a'.repeat(64)}.example.com:80`, 'the host is not a valid host name'],
    [`${'a.'.repeat(130)}com:80`, 'the host name is longer than 253 characters'],
    ['ftp://192.0.2.7:80', 'the scheme is none of http, https, socks4, socks4a, socks5, socks5h'],
    ['socks6://192.0.2.7:80', 'the scheme is none of http, https, socks4, socks4a, socks5, socks5h'],
    ['http://:pass@192.0.2.7:80', 'no user name before the @'],
    ['@192.0.2.7:80', 'no user name before the @'],
    ['http://bob:pass@192.0.2.7:80:more', 'something follows the port'],
    ['bob:pass:192.0.2.7:80', 'the port is not a decimal number'],
    ['192.0.2.9:80:192.0.2.7:80', 'user:pass:host:port is not read; write user:pass@host:port'],
    ['http://bob:a%00b@192.0.2.7:80', 'the user or password holds a control character or bytes that are not UTF-8'],
    ['bob:a\u0007b@192.0.2.7:80', 'holds a control character or bytes that are not UTF-8'],
    ['bob:a\uD800b@192.0.2.7:80', 'holds a control character or bytes that are not UTF-8'],
    [`${'u'.repeat(500)}@192.0.2.7:80`, 'the id is longer than 512 characters'],
    [`bob:${'p'.repeat(4_096)}@192.0.2.7:80`, 'the value is longer than 4096 characters'],
    [`192.0.2.7:80:${'n'.repeat(257)}`, 'the label "note" is longer than 256 characters'],
    [`192.0.2.7:80 ${'x'.repeat(8_192)}`, 'longer than 8192 characters'],
  ])('%s', (text, reason) => {
    expect(reasonOf('text', text)).toBe(reason);
  });
});

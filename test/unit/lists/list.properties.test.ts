import { isIP } from 'node:net';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ColumnsUnknownError, ValidationFailedError } from '../../../src/errors/domain.errors.js';
import { LIST_FORMATS, PROXY_SCHEMES } from '../../../src/pool/lists/member.list.js';
import { type ProxyAddress, proxyId, proxyValue } from '../../../src/pool/lists/proxy.address.js';
import { memberOf, read, tagOf } from './list.reading.js';

const name = fc.stringMatching(/^[a-z][a-z0-9]{0,10}(\.example)?\.com$/);
const ipv4 = fc.integer({ min: 0, max: 255 }).map((n) => `192.0.2.${n}`);
const ipv6 = fc.integer({ min: 1, max: 0xffff }).map((n) => `[2001:db8::${n.toString(16)}]`);
/** What needs no quoting in a line: no white space, comma or bar. */
const word = fc
  .string({
    unit: fc.constantFrom(...Array.from('abzAZ019@:%/?#[]{}=&+-_.!$*;~^<>éß中💡')),
    minLength: 1,
    maxLength: 12,
  })
  .filter((text) => !text.startsWith('//'));
const user = word.filter((text) => !text.includes(':') && isIP(text) === 0);
const address: fc.Arbitrary<ProxyAddress> = fc
  .record(
    {
      scheme: fc.constantFrom(...PROXY_SCHEMES),
      host: fc.oneof(name, ipv4, ipv6),
      port: fc.integer({ min: 1, max: 65_535 }),
      username: user,
      password: word,
    },
    { requiredKeys: ['scheme', 'host', 'port'] },
  )
  .map(({ password, ...rest }) =>
    rest.username === undefined || password === undefined ? rest : { ...rest, password },
  );

function expected(proxy: ProxyAddress) {
  return { id: proxyId(proxy, tagOf), value: proxyValue(proxy) };
}

test('an address reads back from every form that it can be written in', () => {
  fc.assert(
    fc.property(address, (proxy) => {
      const { scheme, host, port, username, password } = proxy;
      const options = { defaultScheme: scheme };
      expect(memberOf('text', proxyValue(proxy))).toEqual(expected(proxy));
      expect(memberOf('text', proxyValue(proxy).replace(scheme, scheme.toUpperCase()))).toEqual(expected(proxy));
      expect(memberOf('json', JSON.stringify({ members: [{ value: proxyValue(proxy) }] }))).toEqual(expected(proxy));
      expect(memberOf('ndjson', JSON.stringify({ protocol: scheme, host, port, username, password }))).toEqual(
        expected(proxy),
      );
      const cells = [scheme, host, port, username ?? '', password ?? ''].map((cell) => `"${cell}"`);
      expect(memberOf('csv', `type,ip,port,user,pass\n${cells.join()}`)).toEqual(expected(proxy));
      if (username === undefined) expect(memberOf('text', `${host}:${port}`, options)).toEqual(expected(proxy));
    }),
    { numRuns: 500 },
  );
});

/** A line that begins with one of these is a comment, JSON or an address whose host comes first. */
const ambiguous = /^(#|\/\/|\{|\[)/;

test('user:pass@host:port reads back as it stands', () => {
  fc.assert(
    fc.property(address, (proxy) => {
      const { scheme, host, port, username, password } = proxy;
      fc.pre(username !== undefined && password !== undefined && !ambiguous.test(username));
      const text = `${username}:${password}@${host}:${port}`;
      expect(memberOf('text', text, { defaultScheme: scheme })).toEqual(expected(proxy));
    }),
    { numRuns: 500 },
  );
});

test('host:port:user:pass reads back as it stands after an IP address, and after a name where there is no @', () => {
  fc.assert(
    fc.property(address, (proxy) => {
      const { scheme, host, port, username, password } = proxy;
      fc.pre(username !== undefined && password !== undefined);
      fc.pre(host.startsWith('[') || isIP(host) !== 0 || !`${username}${password}`.includes('@'));
      const text = `${host}:${port}:${username}:${password}`;
      expect(memberOf('text', text, { defaultScheme: scheme })).toEqual(expected(proxy));
    }),
    { numRuns: 500 },
  );
});

/** Reads whatever it is to the end. Returns what is told of it: reasons, or why the whole was refused. */
function told(format: (typeof LIST_FORMATS)[number], body: Uint8Array | string): string {
  try {
    return JSON.stringify(read(format, body).filter((entry) => 'reason' in entry));
  } catch (error) {
    if (error instanceof ValidationFailedError || error instanceof ColumnsUnknownError) return error.message;
    throw error;
  }
}

const piece = fc.oneof(
  fc.constantFrom(
    ...Array.from('@:,;|"\'\n\r\t {}[]/#%=\\'),
    '192.0.2.1',
    '80',
    'http://',
    '=>',
    '[2001:db8::1]',
    ':80',
    '\u0000',
  ),
  fc.constantFrom(
    '{"ip":',
    '"port":',
    '"members":',
    '"id":',
    '"value":',
    '"password":',
    'ip,port,password\n',
    '\uFEFF',
  ),
  fc.string({ maxLength: 3 }),
);

test.each(LIST_FORMATS)('arbitrary bytes as %s end in entries, or one of the two errors', (format) => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array({ maxLength: 300 }),
        fc.array(piece, { maxLength: 40 }).map((p) => p.join('')),
      ),
      (body) => {
        expect(typeof told(format, body)).toBe('string');
      },
    ),
    { numRuns: 1_000 },
  );
});

test.each(LIST_FORMATS)('no reason in %s shows what stood in the line', (format) => {
  const secret = 'sEcReT';
  const around = fc.array(piece, { maxLength: 15 }).map((pieces) => pieces.join(''));
  const body = fc.tuple(around, around).map(([before, after]) => {
    if (format === 'csv') return `ip,port,pass\n${before}${secret}${after}`;
    // In JSON it stands where a value can: names of fields may be told.
    const value = JSON.stringify(`${before}${secret}${after}`);
    const object = `{"ip": ${value}, "port": 80}`;
    if (format === 'text') return `${before}${secret}${after}`.replaceAll('{', '');
    return format === 'ndjson'
      ? `${object}\n{"id": ${value}, "value": {}}\n${secret}`
      : `[${object}, {"value": ${value}}]`;
  });
  fc.assert(
    fc.property(body, (text) => {
      expect(told(format, text)).not.toContain(secret);
    }),
    { numRuns: 1_000 },
  );
});

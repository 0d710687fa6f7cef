import { describe, expect, test } from '@jest/globals';
import { idsOf, memberOf, read, reasonOf, tagOf } from './list.reading.js';

const A = 'http://192.0.2.1:80';
const json = (value: unknown) => JSON.stringify(value);

describe('proxy objects', () => {
  const PASSWORD_ID = `socks5://bob@192.0.2.1:1080#${tagOf('s')}`;

  test.each<[object, string, string | null]>([
    [{ protocol: 'socks4', host: '192.0.2.1', port: 1080 }, 'socks4://192.0.2.1:1080', null],
    [{ type: 'HTTPS', ip: '192.0.2.1', port: '443' }, 'https://192.0.2.1:443', null],
    [{ scheme: 'socks', IP_Address: '192.0.2.1', Port: 1080 }, 'socks5://192.0.2.1:1080', null],
    [{ protocols: ['grpc', 'socks4', 'socks5'], ip: '192.0.2.1', port: 1080 }, 'socks4://192.0.2.1:1080', null],
    [{ protocol: 'socks4/5, socks5', ip: '192.0.2.1', port: 1080 }, 'socks4://192.0.2.1:1080', null],
    [{ host: '2001:DB8::1', port: 80 }, 'http://[2001:db8::1]:80', null],
    [{ host: '[2001:db8::1]', port: 80 }, 'http://[2001:db8::1]:80', null],
    [{ proxy: 'socks5://192.0.2.1:1080', type: 'http' }, 'socks5://192.0.2.1:1080', null],
    [{ address: '192.0.2.1:80', username: null, password: null }, A, null],
    [{ ip: '192.0.2.1', port: 80, username: '', password: '' }, A, null],
    [{ type: 'socks5', ip: '192.0.2.1', port: 1080, username: 'bob', password: 's' }, PASSWORD_ID, null],
    [{ type: 'socks5', ip: '192.0.2.1', port: 1080, user: 'bob', pass: 's' }, PASSWORD_ID, null],
    [{ type: 'socks5', proxy: 'eve:x@192.0.2.1:1080', login: 'bob', pass: 's' }, PASSWORD_ID, null],
    [{ id: 17, ip: '192.0.2.1', port: 80, value: 3, uptime: [1, { a: null }] }, A, null],
    [{ ip: '192.0.2.1', port: 80, country: 'DE' }, A, 'DE'],
    [{ ip: '192.0.2.1', port: 80, countryCode: ' DE ' }, A, 'DE'],
    [{ ip: '192.0.2.1', port: 80, country: { iso_code: 'DE', name: 'Germany' } }, A, 'DE'],
    [{ ip: '192.0.2.1', port: 80, country: { name: 'Germany' } }, A, 'Germany'],
    [{ ip: '192.0.2.1', port: 80, geolocation: { country: { iso_code: 'DE' } } }, A, 'DE'],
    [{ ip: '192.0.2.1', port: 80, location: { country: 'DE' } }, A, 'DE'],
    [{ ip: '192.0.2.1', port: 80, country: null, geolocation: null }, A, null],
    [{ ip: '192.0.2.1', port: 80, country: 7 }, A, null],
  ])('%j', (object, id, country) => {
    for (const [format, body] of [
      ['json', json([object])],
      ['ndjson', json(object)],
      ['text', json(object)],
      ['text', json([object])],
    ] as const) {
      const member = memberOf(format, body);
      expect(member.id).toBe(id);
      expect(member.labels).toEqual(country === null ? undefined : { country });
    }
  });

  test.each<[unknown, string]>([
    [{}, 'no host'],
    [{ port: 80 }, 'no host'],
    [{ ip: 7, port: 80 }, 'the host is not a text'],
    [{ ip: '192.0.2.1' }, 'no host:port found'],
    [{ ip: '192.0.2.1', port: null }, 'no host:port found'],
    [{ ip: '192.0.2.1', port: [80] }, 'the port is neither a number nor a text'],
    [{ ip: '192.0.2.1', port: 80.5 }, 'the port is not a decimal number'],
    [{ ip: '192.0.2.1', port: 1e21 }, 'the port is not a decimal number'],
    [{ ip: '192.0.2.1', port: 70_000 }, 'the port is not between 1 and 65535'],
    [
      { ip: '192.0.2.1', port: 80, type: 'elite' },
      'the scheme is none of http, https, socks4, socks4a, socks5, socks5h',
    ],
    [{ ip: '192.0.2.1', port: 80, password: 'x' }, 'a password without a user name'],
    [{ ip: '192.0.2.1', port: 80, user: 7 }, 'the user is not a text'],
    [{ ip: '192.0.2.1', port: 80, user: 'bob', password: 7 }, 'the password is not a text'],
    [{ ip: '192.0.2.1', port: 80, country: 'x'.repeat(257) }, 'the label "country" is longer than 256 characters'],
    [null, 'neither an object nor an address'],
    [7, 'neither an object nor an address'],
    [[], 'neither an object nor an address'],
    ['rubbish', 'no host:port found'],
  ])('%j is rejected', (element, reason) => {
    expect(reasonOf('json', json([element]))).toBe(reason);
  });
});

describe('{"members": [...]}', () => {
  const one = (member: unknown) => json({ members: [member] });

  test.each<[object, object]>([
    [{ id: 'key-1' }, { id: 'key-1' }],
    [
      { id: 'key-1', value: 'sk-1' },
      { id: 'key-1', value: 'sk-1' },
    ],
    [
      { id: 'a', labels: { n: 1, s: 'x', b: true }, weight: 3, capacity: null },
      { id: 'a', labels: { n: 1, s: 'x', b: true }, weight: 3, capacity: null },
    ],
    [{ value: 'HTTP://192.0.2.1:80' }, { id: A, value: A }],
    [
      { value: '192.0.2.1:80:elite', labels: { country: 'DE' }, weight: 2 },
      { id: A, value: A, labels: { note: 'elite', country: 'DE' }, weight: 2 },
    ],
    [
      { value: 'bob:s@192.0.2.1:80' },
      { id: `http://bob@192.0.2.1:80#${tagOf('s')}`, value: 'http://bob:s@192.0.2.1:80' },
    ],
    [
      { id: 'mine', value: 'bob:s@192.0.2.1:80' },
      { id: 'mine', value: 'bob:s@192.0.2.1:80' },
    ],
    [{ id: 'constructor' }, { id: 'constructor' }],
    [{ id: 'team:alice@example.com' }, { id: 'team:alice@example.com' }],
  ])('%j', (given, member) => {
    expect(memberOf('json', one(given))).toEqual(member);
    expect(memberOf('ndjson', json(given))).toEqual(member);
  });

  test.each<[unknown, string]>([
    ['192.0.2.1:80', 'must be an object'],
    [{}, 'must have an id, or a value that is a proxy'],
    [{ weight: 1 }, 'must have an id, or a value that is a proxy'],
    [{ value: 'sk-1' }, '"value" stands without an id and is no proxy address: no host:port found'],
    [{ id: 'a', password: 'x' }, '"password" is not a known field'],
    [{ id: '' }, '"id" must be 1 to 512 characters, none of them a control character'],
    [{ id: 'a\nb' }, '"id" must be 1 to 512 characters, none of them a control character'],
    [{ id: '\uFFFD' }, '"id" holds bytes that are not UTF-8'],
    [{ id: 'a', value: '\uFFFD' }, '"value" holds bytes that are not UTF-8'],
    [{ id: 'a', value: '' }, '"value" must be a text of 1 to 4096 characters'],
    [{ id: 'a', weight: 101 }, '"weight" must be a whole number from 1 to 100'],
    [
      { id: 'a', labels: { n: {} } },
      '"labels.n" must be a text of at most 256 characters, a finite number, true or false',
    ],
    ...['http://bob:s@192.0.2.1:80', 'bob:s@192.0.2.1:80', 'https://bob:s@example.com', 'x://:s@y'].map(
      (id): [unknown, string] => [{ id }, '"id" holds a password; give the address as "value", without an id'],
    ),
  ])('%j is rejected', (member, reason) => {
    expect(reasonOf('json', one(member))).toBe(reason);
  });

  test('may be empty, and so may an array', () => {
    expect(read('json', '{"members": []}')).toEqual([]);
    expect(read('json', '[]')).toEqual([]);
    expect(read('json', '\uFEFF []\n')).toEqual([]);
  });

  test('counts entries from 1', () => {
    expect(idsOf('json', json({ members: [{ id: 'a' }, {}, { id: 'b' }] }))).toEqual([
      'a',
      '2: must have an id, or a value that is a proxy',
      'b',
    ]);
  });

  test.each(['7', 'null', '"x"', '{}', '{"members": {}}', '{"members": [], "more": 1}'])(
    '%s is refused whole',
    (body) => {
      expect(() => read('json', body)).toThrow(expect.objectContaining({ code: 'VALIDATION_FAILED' }));
    },
  );
});

test('NDJSON takes objects only, a bad line does not spoil the others', () => {
  const lines = [
    '{"ip": "192.0.2.1", "port": 80}',
    '',
    ' ',
    '192.0.2.1:80',
    '[]',
    '{"id": "a"',
    '{"id": "b", "id": "c"}',
    '{"id": "d"}',
  ];
  expect(idsOf('ndjson', `\uFEFF${lines.join('\r\n')}`)).toEqual([
    A,
    '4: not a JSON object',
    '5: not a JSON object',
    '6: malformed JSON at column 11',
    '7: a key that stands twice in its object at column 13',
    'd',
  ]);
});

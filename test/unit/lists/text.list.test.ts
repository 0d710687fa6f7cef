import { describe, expect, test } from '@jest/globals';
import { idsOf, memberOf, read } from './list.reading.js';

const A = 'http://192.0.2.1:80';
const B = 'http://192.0.2.2:80';

describe('columns after an address are ignored', () => {
  test.each([
    '192.0.2.1:80 DE elite',
    '192.0.2.1:80\tDE\telite',
    '192.0.2.1:80,DE,elite',
    '192.0.2.1:80, DE',
    '192.0.2.1:80|DE|elite',
    '192.0.2.1:80 | DE',
    '192.0.2.1:80 => 198.51.100.9',
    '192.0.2.1:80 # ours',
    '192.0.2.1:80 // ours',
    '192.0.2.1:80 bob:secret@192.0.2.9:99999',
    '192.0.2.1:80\u00a0DE',
    '  192.0.2.1:80  ',
    '\t192.0.2.1:80',
    '"192.0.2.1:80","DE"',
    "'192.0.2.1:80',",
    'http://192.0.2.1:80 \uFFFD',
  ])('%j', (line) => {
    expect(memberOf('text', line)).toEqual({ id: A, value: A });
  });
});

describe('lines', () => {
  test.each([
    ['LF', '192.0.2.1:80\n192.0.2.2:80\n'],
    ['CR', '192.0.2.1:80\r192.0.2.2:80\r'],
    ['CRLF', '192.0.2.1:80\r\n192.0.2.2:80\r\n'],
    ['all three', '192.0.2.1:80\r192.0.2.2:80\n\r\n'],
    ['no newline at the end', '192.0.2.1:80\n192.0.2.2:80'],
    ['a byte-order mark', '\uFEFF192.0.2.1:80\n192.0.2.2:80'],
  ])('may end in %s', (_name, body) => {
    expect(idsOf('text', body)).toEqual([A, B]);
    expect(idsOf('text', Buffer.from(body))).toEqual([A, B]);
  });

  test('count from 1, with CRLF as one', () => {
    expect(read('text', 'x\r\n\r\nx\rx\n192.0.2.1:80').map(({ line }) => line)).toEqual([1, 3, 4, 5]);
  });

  test('that are blank or comments are nothing; prose is rejected', () => {
    const list =
      '# proxies\n// more\n\n   \n  # indented\n  // indented\nUpdated at 12:30 by us\n192.0.2.1:80\n#192.0.2.2:80';
    expect(idsOf('text', list)).toEqual(['7: no host:port found', A]);
  });

  test.each(['', '\n', '\uFEFF', '  \r\n', '# nothing'])('%j is an empty list', (body) => {
    expect(idsOf('text', body)).toEqual([]);
  });
});

describe('encodings', () => {
  const body = '192.0.2.1:80\r\nbob:пароль@192.0.2.2:80';
  const expected = idsOf('text', body);

  test('UTF-16 by its mark, either way round', () => {
    const little = Buffer.from(`\uFEFF${body}`, 'utf16le');
    expect(idsOf('text', little)).toEqual(expected);
    expect(idsOf('text', Buffer.from(little).swap16())).toEqual(expected);
  });

  test('bytes that are not UTF-8 spoil only the address that they are in', () => {
    const bytes = Buffer.from('192.0.2.1:80 caf\xe9\nbob:caf\xe9@192.0.2.9:80\n\xff\xfe\x00\n192.0.2.2:80', 'latin1');
    expect(idsOf('text', bytes)).toEqual([
      A,
      '2: holds a control character or bytes that are not UTF-8',
      '3: holds a control character or bytes that are not UTF-8',
      B,
    ]);
  });
});

describe('JSON in a text list', () => {
  test('an object a line, also with a comma after it, beside addresses', () => {
    const list = '{"ip": "192.0.2.1", "port": 80},\n192.0.2.2:80\n{"ip": "192.0.2.3"\n{"ip": "192.0.2.3"}';
    expect(idsOf('text', list)).toEqual([A, B, '3: malformed JSON at column 19', '4: no host:port found']);
  });

  test('a JSON array, on one line or many', () => {
    const list = [{ ip: '192.0.2.1', port: 80 }, '192.0.2.2:80'];
    expect(idsOf('text', JSON.stringify(list))).toEqual([A, B]);
    expect(idsOf('text', `\n${JSON.stringify(list, undefined, 2)}\n`)).toEqual([A, B]);
  });

  test('a list that begins with an IPv6 address is not an array', () => {
    expect(idsOf('text', '[2001:db8::1]:80\n192.0.2.1:80')).toEqual(['http://[2001:db8::1]:80', A]);
  });

  test('an array with a key twice is refused as a whole', () => {
    expect(() => read('text', '[{"ip": "192.0.2.1",\n "ip": "192.0.2.2"}]')).toThrow(
      expect.objectContaining({ code: 'VALIDATION_FAILED', line: 2 }),
    );
  });
});

test('a list of 100,000 lines is read whole, each line once', () => {
  const lines = Array.from({ length: 100_000 }, (_, n) => `198.51.100.${n % 256}:${1 + (n % 60_000)}:bob:s${n}`);
  const entries = read('text', lines.join('\n'));
  expect(entries).toHaveLength(100_000);
  expect(entries.at(-1)?.line).toBe(100_000);
  expect(entries.every((entry) => 'member' in entry)).toBe(true);
});

test.each([
  ['an array that is none', 'text', `[${'[2001:db8::1]:80\n'.repeat(20_000)}`, 20_000],
  ['one line of quotes', 'text', '"'.repeat(2_000_000), 1],
  ['one line of blanks', 'text', `${' '.repeat(2_000_000)}x`, 1],
  ['one line of braces', 'text', '{'.repeat(500_000), 1],
  ['one line of arrays', 'text', '[]'.repeat(500_000), 1],
  ['one line of objects', 'ndjson', '{"a":'.repeat(500_000), 1],
  ['more columns than rows need', 'csv', `host${','.repeat(100_000)}\n${'x\n'.repeat(100_000)}`, 100_000],
  ['a quote a row', 'csv', `host,port\n${'"\n'.repeat(20_000)}`, 10_000],
  ['a quote that stays open', 'csv', `host,port\n"${'""'.repeat(500_000)}`, 1],
] as const)('%s is read in time that is linear', (_name, format, body, entries) => {
  // Quadratic time would take minutes here, longer than a test may.
  expect(read(format, body)).toHaveLength(entries);
});

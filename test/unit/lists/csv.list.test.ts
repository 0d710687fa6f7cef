import { describe, expect, test } from '@jest/globals';
import { ColumnsUnknownError } from '../../../src/errors/domain.errors.js';
import { idsOf, memberOf, read, tagOf } from './list.reading.js';

const A = 'http://192.0.2.1:80';
const B = 'http://192.0.2.2:80';

describe('a CSV', () => {
  test.each([
    ['commas', 'ip,port\n192.0.2.1,80\n192.0.2.2,80\n'],
    ['semicolons', 'ip;port\n192.0.2.1;80\n192.0.2.2;80'],
    ['tabs', 'ip\tport\n192.0.2.1\t80\n192.0.2.2\t80'],
    ['quotes', '"ip","port"\n"192.0.2.1","80"\n192.0.2.2,"80"\n'],
    ['spaces', ' IP Address , Port \n 192.0.2.1 , 80 \n 192.0.2.2,80'],
    ['CR', 'ip,port\r192.0.2.1,80\r192.0.2.2,80\r'],
    ['CRLF and a byte-order mark', '\uFEFFip,port\r\n192.0.2.1,80\r\n192.0.2.2,80\r\n'],
    ['blank lines and comments', '# ours\n\nip,port\n\n# one\n192.0.2.1,80\n192.0.2.2,80'],
    ['other columns, also too many', '#,anonymity,ip,port\n1,elite,192.0.2.1,80\n2,,192.0.2.2,80,x,y'],
    ['the port in the host', 'proxy\n192.0.2.1:80\nhttp://192.0.2.2:80'],
    ['two columns of one name', 'ip,port,IP\n192.0.2.1,80,192.0.2.9\n,80,192.0.2.2'],
  ])('with %s', (_name, body) => {
    expect(idsOf('csv', body)).toEqual([A, B]);
  });

  test('has all the parts of a proxy', () => {
    const body = 'type,host,port,username,password,country,note\nSOCKS5,192.0.2.1,1080,bob,"p,""@:",DE,x';
    expect(memberOf('csv', body)).toEqual({
      id: `socks5://bob@192.0.2.1:1080#${tagOf('p,"@:')}`,
      value: 'socks5://bob:p%2C%22%40%3A@192.0.2.1:1080',
      labels: { country: 'DE' },
    });
  });

  test('may be of members', () => {
    const body = 'id,value,weight,capacity,country,other\na,sk-1,3,2,DE,x\nb,,,,,\n,192.0.2.1:80,,,,\nc,,3.5,,,\n,,,,,';
    expect(read('csv', body)).toEqual([
      { line: 2, member: { id: 'a', value: 'sk-1', weight: 3, capacity: 2, labels: { country: 'DE' } } },
      { line: 3, member: { id: 'b' } },
      { line: 4, member: { id: A, value: A } },
      { line: 5, reason: '"weight" must be a whole number from 1 to 100' },
      { line: 6, reason: 'must have an id, or a value that is a proxy' },
    ]);
  });

  test('rows with wrong quotes spoil their own line only, and rows of several lines count as they stand', () => {
    const body =
      'ip,port,note\n192.0.2.1,80,"two\nlines"\n192.0.2.9,80,"open\n192.0.2.2,80,x\n192.0.2.9,"8"0,x\nrubbish';
    expect(idsOf('csv', body)).toEqual([
      A,
      '4: the quotes of the row are not right',
      B,
      '6: the quotes of the row are not right',
      '7: no host:port found',
    ]);
  });

  test('that is empty, or only a header, has no members', () => {
    for (const body of ['', '\n\n', 'ip,port', 'ip,port\n']) expect(read('csv', body)).toEqual([]);
  });
});

describe('a header that names no host', () => {
  function columnsOf(body: string): readonly string[] {
    try {
      read('csv', body);
    } catch (error) {
      if (error instanceof ColumnsUnknownError) return error.columns;
      throw error;
    }
    throw new Error('not refused');
  }

  test('is refused with the columns seen', () => {
    expect(columnsOf('server;Nr;;Land\na;1;2;3')).toEqual(['server', 'Nr', '(no name)', 'Land']);
  });

  test.each(['192.0.2.1,80\n', 'bob:SECRET@192.0.2.1:80', 'SECRET,192.0.2.1', '1234,SECRET', '2001:db8::1,SECRET'])(
    '%j is data, and is not shown',
    (body) => {
      expect(new Set(columnsOf(body))).toEqual(new Set(['(no name)']));
    },
  );

  test('with wrong quotes is refused and not shown', () => {
    expect(columnsOf('{"ip": "SECRET", "port": 80}')).toEqual(['(no name)']);
  });

  test('is cut where it is long', () => {
    const columns = columnsOf(`${'c'.repeat(1_000)},${'d,'.repeat(1_000)}`);
    expect(columns).toHaveLength(50);
    expect(columns[0]).toBe('c'.repeat(64));
  });
});

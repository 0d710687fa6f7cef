import { describe, expect, test } from '@jest/globals';
import { exitAddressIn } from '../../../../src/eligibility/probe/exit.address.js';

describe('the first address of a body', () => {
  test.each([
    ['192.0.2.7', '192.0.2.7'],
    ['192.0.2.7\n', '192.0.2.7'],
    ['Your IP is 192.0.2.7.', '192.0.2.7'],
    ['<b>192.0.2.7</b>', '192.0.2.7'],
    ['ip=192.0.2.7\nts=1', '192.0.2.7'],
    ['addr:192.0.2.7', '192.0.2.7'],
    ['192.0.2.7:4711', '192.0.2.7'],
    ['{"origin": "192.0.2.7, 198.51.100.1"}', '192.0.2.7'],
    ['2001:db8::7', '2001:db8::7'],
    ['2001:DB8:0:0:0:0:0:7.', '2001:db8::7'],
    ['[2001:db8::7]:4711', '2001:db8::7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::FFFF:C000:207', '192.0.2.7'],
    ['at 10:30:15 from 192.0.2.7', '192.0.2.7'],
    [`${'.'.repeat(65_000)}x 192.0.2.7`, '192.0.2.7'],
    [`${'x'.repeat(64)}:192.0.2.7`, null],
    ['192.0.2.256', null],
    ['1192.0.2.7', null],
    ['192.0.2.7.9', null],
    ['version 1.2.3', null],
    ['none', null],
    ['', null],
  ])('%.40s', (body, address) => {
    expect(exitAddressIn(body)).toBe(address);
  });
});

describe('the address in a field of a JSON body', () => {
  test.each([
    ['{"other": "198.51.100.1", "ip": "192.0.2.7"}', '192.0.2.7'],
    ['{"ip": "2001:db8::7"}', '2001:db8::7'],
    ['{"ip": "192.0.2.7, 198.51.100.1"}', '192.0.2.7'],
    ['{"other": "198.51.100.1"}', null],
    ['{"ip": 7}', null],
    ['{"ip": null}', null],
    ['["192.0.2.7"]', null],
    ['"192.0.2.7"', null],
    ['null', null],
    ['192.0.2.7', null],
    ['{"ip": "192.0.2.7"', null],
  ])('%s', (body, address) => {
    expect(exitAddressIn(body, 'ip')).toBe(address);
  });

  test('is not looked for among what every object has', () => {
    expect(exitAddressIn('{}', 'constructor')).toBeNull();
    expect(exitAddressIn('{"__proto__": "192.0.2.7"}', '__proto__')).toBe('192.0.2.7');
  });
});

import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { StrictJsonError } from '../../../src/pool/lists/strict.json.error.js';
import { parseStrictJson } from '../../../src/pool/lists/strict.json.js';

function errorOf(text: string): StrictJsonError {
  try {
    parseStrictJson(text);
  } catch (error) {
    if (error instanceof StrictJsonError) return error;
    throw error;
  }
  throw new Error('not refused');
}

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

describe('strict JSON', () => {
  test.each<[string, Partial<StrictJsonError>]>([
    ['', { problem: 'malformed JSON', line: 1, column: 1 }],
    ['[1,\n 2,]', { problem: 'malformed JSON', line: 2, column: 4 }],
    ['[1] 2', { problem: 'malformed JSON', line: 1, column: 5 }],
    ['{"a": 1,\r\n b: 2}', { problem: 'malformed JSON', line: 2, column: 2 }],
    ['// x\n[]', { problem: 'malformed JSON', line: 1 }],
    ['{"a": 1,\n "b": {"c": 1, "c": 2}}', { malformed: false, line: 2, column: 16, path: 'b.c' }],
    ['{"a": 1, "\\u0061": 2}', { malformed: false, line: 1, column: 10, path: 'a' }],
    ['[{"__proto__": 1}]', { problem: 'the key __proto__ is not allowed', path: '0.__proto__' }],
    ['[{"\\u005f_proto__": 1}]', { problem: 'the key __proto__ is not allowed', path: '0.__proto__' }],
    [nested(65), { problem: 'more than 64 levels of nesting', column: 65 }],
    ['{"a":'.repeat(100_000), { problem: 'more than 64 levels of nesting' }],
  ])('refuses %j with its place', (text, found) => {
    expect(errorOf(text)).toMatchObject({ code: 'VALIDATION_FAILED', ...found });
  });

  test.each(['{"a": 1, "b": {"a": 2}}', '[{"a": 1}, {"a": 2}]', '{"constructor": 1, "prototype": 2}', nested(64)])(
    'takes %s',
    (text) => {
      expect(parseStrictJson(text)).toEqual(JSON.parse(text));
    },
  );

  test('takes whatever JSON.stringify writes, and refuses whatever JSON.parse refuses', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), fc.nat(), fc.string({ maxLength: 2 }), (value, at, rubbish) => {
        const text = JSON.stringify(value);
        if (!text.includes('__proto__')) expect(parseStrictJson(text)).toEqual(JSON.parse(text));
        const place = at % (text.length + 1);
        const broken = text.slice(0, place) + rubbish + text.slice(place);
        if (!isJson(broken)) expect(errorOf(broken)).toBeInstanceOf(StrictJsonError);
      }),
    );
  });

  test('shows no value, and long keys cut short', () => {
    expect(errorOf('["SECRET", SECRET]').message).not.toContain('SECRET');
    const key = 'k'.repeat(500);
    expect(errorOf(`{"${key}": 1, "${key}": 2}`).path).toBe(`${'k'.repeat(64)}…`);
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

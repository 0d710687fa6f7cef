import { describe, expect, test } from '@jest/globals';
import { probeSchema } from '../../../../src/eligibility/probe/probe.settings.js';

const url = 'https://example.com/ip';

test('only the URL is needed', () => {
  expect(probeSchema.parse({ url })).toEqual({
    prober: 'proxy',
    url,
    timeoutMs: 10_000,
    status: [200],
    intervalMs: 300_000,
    concurrency: 50,
  });
});

describe('a probe may have', () => {
  test.each([
    [{ url: 'http://192.0.2.1:8080/?a=b' }],
    [{ url: `http://192.0.2.1/${'a'.repeat(2_048 - 17)}` }],
    [{ url, timeoutMs: 100 }],
    [{ url, timeoutMs: 60_000 }],
    [{ url, status: [200, 204, 301, 599] }],
    [{ url, bodyPattern: '\\p{Lu}'.padEnd(512, 'x') }],
    [{ url, maxLatencyMs: 1 }],
    [{ url, exitAddress: 'differs', exitAddressField: 'ip' }],
    [{ url, intervalMs: 10_000, concurrency: 1_000 }],
    [{ url, intervalMs: 604_800_000, concurrency: 1 }],
  ])('%j', (settings) => {
    expect(probeSchema.parse(settings)).toMatchObject(settings);
  });
});

describe('refused at its field', () => {
  test.each([
    [{}, 'url'],
    [{ url: 7 }, 'url'],
    [{ url: '' }, 'url'],
    [{ url: 'example.com' }, 'url'],
    [{ url: 'ftp://example.com/' }, 'url'],
    [{ url: 'https://bob:s3cret@example.com/' }, 'url'],
    [{ url: 'https://bob@example.com/' }, 'url'],
    [{ url: `http://192.0.2.1/${'a'.repeat(2_049 - 17)}` }, 'url'],
    [{ url, timeoutMs: 99 }, 'timeoutMs'],
    [{ url, timeoutMs: 60_001 }, 'timeoutMs'],
    [{ url, timeoutMs: '1000' }, 'timeoutMs'],
    [{ url, status: [] }, 'status'],
    [{ url, status: 200 }, 'status'],
    [{ url, status: [101] }, 'status.0'],
    [{ url, status: [200, 600] }, 'status.1'],
    [{ url, bodyPattern: '' }, 'bodyPattern'],
    [{ url, bodyPattern: '(' }, 'bodyPattern'],
    [{ url, bodyPattern: '\\-' }, 'bodyPattern'],
    [{ url, bodyPattern: 'x'.repeat(513) }, 'bodyPattern'],
    [{ url, maxLatencyMs: 0 }, 'maxLatencyMs'],
    [{ url, exitAddress: 'same' }, 'exitAddress'],
    [{ url, exitAddressField: '' }, 'exitAddressField'],
    [{ url, intervalMs: 9_999 }, 'intervalMs'],
    [{ url, intervalMs: 604_800_001 }, 'intervalMs'],
    [{ url, concurrency: 0 }, 'concurrency'],
    [{ url, concurrency: 1_001 }, 'concurrency'],
    [{ url, extra: 1 }, ''],
  ])('%j', (settings, path) => {
    const { error } = probeSchema.safeParse(settings);
    expect(new Set(error?.issues.map((issue) => issue.path.join('.')))).toEqual(new Set([path]));
    expect(JSON.stringify(error)).not.toContain('s3cret');
  });
});

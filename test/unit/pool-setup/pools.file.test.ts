import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PoolsFileError } from '../../../src/pool-setup/pools.file.error.js';
import { readPoolsFile } from '../../../src/pool-setup/pools.file.js';

let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'evenhand-pools-'));
});
afterAll(() => rm(directory, { recursive: true }));

async function readPools(content: string | Uint8Array, name = 'pools.yaml') {
  await writeFile(join(directory, name), content);
  return (await readPoolsFile(join(directory, name))).pools;
}

async function problemsOf(content: string | Uint8Array, name?: string): Promise<readonly string[]> {
  try {
    await readPools(content, name);
  } catch (error) {
    if (error instanceof PoolsFileError) return error.problems;
    throw error;
  }
  return [];
}

const SHOP = {
  name: 'shop',
  settings: { strategy: 'least-assigned', restore: 'keep', initialCount: 7, capacity: null, lease: { ttlMs: 5_000 } },
  members: {
    mode: 'replace',
    defaultScheme: 'socks5',
    sources: [
      { kind: 'file', at: 'lists/a.txt', format: 'text' },
      { kind: 'file', at: 'b', format: 'csv' },
      { kind: 'url', at: 'https://example.com/list.JSONL?key=x', format: 'ndjson' },
    ],
  },
};
const YAML = `
pools:
  shop:
    strategy: least-assigned
    restore: keep
    initialCount: 7
    capacity: null
    lease: { ttlMs: 5000 }
    members:
      mode: replace
      defaultScheme: socks5
      sources:
        - file: lists/a.txt
        - file: b
          format: csv
        - url: https://example.com/list.JSONL?key=x
  search:
`;
const JSON_TEXT = JSON.stringify(
  {
    pools: {
      shop: {
        ...SHOP.settings,
        members: {
          ...SHOP.members,
          sources: [
            { file: 'lists/a.txt' },
            { file: 'b', format: 'csv' },
            { url: 'https://example.com/list.JSONL?key=x' },
          ],
        },
      },
      search: {},
    },
  },
  undefined,
  '\t',
);

describe('a pools file', () => {
  test.each([
    ['YAML', YAML],
    ['JSON', JSON_TEXT],
    ['YAML with a byte-order mark and CRLF', `\uFEFF${YAML.replaceAll('\n', '\r\n')}`],
    ['UTF-16', Buffer.from(`\uFEFF${YAML}`, 'utf16le')],
  ])('may be %s', async (_name, content) => {
    expect(await readPools(content)).toEqual([SHOP, { name: 'search', settings: {}, members: undefined }]);
  });

  test('takes merge and http where members name neither', async () => {
    const [pool] = await readPools('pools: {shop: {members: {sources: [{file: a.txt}]}}}');
    expect(pool?.members).toMatchObject({ mode: 'merge', defaultScheme: 'http' });
  });

  test('may use anchors and aliases', async () => {
    const pools = await readPools('pools:\n  a: &common\n    restore: keep\n  b: *common\n');
    expect(pools.map(({ settings }) => settings)).toEqual([{ restore: 'keep' }, { restore: 'keep' }]);
  });

  test('may name no pools', async () => {
    expect(await readPools('pools: {}')).toEqual([]);
  });

  test('stands among the examples', async () => {
    const { pools } = await readPoolsFile(fileURLToPath(new URL('../../../examples/pools.yaml', import.meta.url)));
    expect(pools.map(({ name }) => name)).toEqual(['shop', 'search']);
  });
});

describe('what is wrong is named with file, line and path', () => {
  const member = (source: string) => `pools:\n  shop:\n    members:\n      sources:\n        - ${source}\n`;
  const AT = 'pools.yaml:5: pools.shop.members.sources.0';

  test.each([
    ['', ['pools.yaml:1: must be an object with "pools"']],
    ['[]', ['pools.yaml:1: must be an object with "pools"']],
    [
      '# nothing\n\npool: {}',
      ['pools.yaml:3: pools: must be an object of pools, by their names', 'pools.yaml:3: pool: is not a known field'],
    ],
    ['pools:\n', ['pools.yaml:1: pools: must be an object of pools, by their names']],
    [
      'pools:\n  shop:\n    restore: level\n    restor: keep',
      ['pools.yaml:4: pools.shop.restor: is not a known field'],
    ],
    [
      'pools:\n  shop:\n    restore: none',
      ['pools.yaml:3: pools.shop.restore: Invalid option: expected one of "level"|"keep"|"reset"'],
    ],
    [
      'pools:\n  shop:\n    lease:\n\n      ttlMs: "60000"',
      ['pools.yaml:5: pools.shop.lease.ttlMs: Invalid input: expected number, received string'],
    ],
    [
      'pools:\n  ok:\n  Shop:\n    restore: keep',
      [expect.stringMatching(/^pools\.yaml:3: pools\.Shop: must be 1 to 64 of a-z/) as unknown as string],
    ],
    [
      'pools:\n  a: {restore: 1}\n  b: {strategy: 1}',
      [
        expect.stringMatching(/^pools\.yaml:2: pools\.a\.restore: /) as unknown as string,
        expect.stringMatching(/^pools\.yaml:3: pools\.b\.strategy: /) as unknown as string,
      ],
    ],
    ['pools:\n  a:\n    restore: keep\n    restore: level', ['pools.yaml:4: pools.a.restore: stands twice']],
    ['pools:\n  a:\n  "a": {}', ['pools.yaml:3: pools.a: stands twice']],
    ['{"pools": {"a": {}},\n "pools": {}}', ['pools.yaml:2: pools: stands twice']],
    ['pools:\n  __proto__: {}', ['pools.yaml:2: pools.__proto__: this key is not allowed']],
    ['pools:\n  ? [a]\n  : {}', ['pools.yaml:2: pools.?: a key must be a text']],
    ['pools:\n  "a\\nb": {}', [expect.stringMatching(/^pools\.yaml:2: pools\.a\?b: must/) as unknown as string]],
    ['pools:\n  a: &x {restore: keep}\n  b:\n    <<: *x', ['pools.yaml:4: pools.b.<<: is not a known field']],
    ['pools: {\n  a: {}', [expect.stringMatching(/^pools\.yaml:2: is not valid YAML or JSON \(/) as unknown as string]],
    [
      'pools: {}\n---\npools: {}',
      [expect.stringMatching(/^pools\.yaml:\d: is not valid YAML or JSON \(multiple docs\)/) as unknown as string],
    ],
    ['pools:\n\ta: 1', [expect.stringMatching(/^pools\.yaml:2: is not valid YAML or JSON/) as unknown as string]],
    [member('{}'), [`${AT}: must have either a file or a url`]],
    [member('{file: a.txt, url: http://example.com/a.txt}'), [`${AT}: must have either a file or a url`]],
    [
      member('{file: a}'),
      [expect.stringContaining(`${AT}.format: must be one of json, text, ndjson, csv`) as unknown as string],
    ],
    [member('{url: http://example.com}'), [expect.stringContaining(`${AT}.format: must be`) as unknown as string]],
    [member('{file: a.txt, format: xml}'), [`${AT}.format: must be one of json, text, ndjson, csv`]],
    [member('{url: "ftp://bob:SECRET@example.com/a.txt"}'), [`${AT}.url: must be an http:// or https:// URL`]],
    [member('{url: a.txt}'), [`${AT}.url: must be an http:// or https:// URL`]],
    [
      member('a.txt'),
      [expect.stringMatching(/^pools\.yaml:5: pools\.shop\.members\.sources\.0: /) as unknown as string],
    ],
    [
      'pools:\n  shop:\n    members:\n      sources: []',
      ['pools.yaml:4: pools.shop.members.sources: must name at least one source'],
    ],
    [
      'pools:\n  shop:\n    members:\n      mode: merge',
      ['pools.yaml:3: pools.shop.members.sources: must be a list of sources, each a file or a url'],
    ],
  ])('%j', async (content, problems) => {
    expect(await problemsOf(content)).toEqual(problems);
  });

  test('also through an alias', async () => {
    expect(await problemsOf('pools:\n  a: &x\n    restore: none\n  b: *x')).toEqual([
      expect.stringMatching(/^pools\.yaml:3: pools\.a\.restore: /),
      expect.stringMatching(/^pools\.yaml:3: pools\.b\.restore: /),
    ]);
  });

  test('and never shows a value', async () => {
    for (const broken of [
      member('{url: "ftp://bob:SECRET@example.com/a.txt"}'),
      member('{url: "http://bob:SECRET@example.com/a?token=SECRET"}'),
      member('url: http://bob:SECRET@example.com: x'),
      member('"http://bob:SECRET@example.com'),
      'pools: [SECRET',
      'pools: SECRET',
      'pools: {a: {restore: SECRET, strategy: [SECRET], capacity: SECRET}}',
      'pools: *SECRET',
      'pools: !SECRET x',
    ]) {
      const problems = await problemsOf(broken);
      expect(problems.length).toBeGreaterThan(0);
      expect(problems.join()).not.toContain('SECRET');
    }
  });
});

describe('a file that is no pools file', () => {
  const LAUGHS = `a: &a [x,x,x,x,x,x,x,x,x]\n${Array.from('bcdefghij')
    .map((name, n) => {
      const before = String.fromCharCode(name.charCodeAt(0) - 1);
      return `${name}: &${name} [${Array(9).fill(`*${before}`).join()}] # ${n}`;
    })
    .join('\n')}\npools: {}`;

  test.each([
    ...['[', '{', '- ', '? ', ': ', '[{a: '].map((text) => [`${text} without end`, text.repeat(100_000)]),
    ['indentation without end', Array.from({ length: 500 }, (_, n) => `${' '.repeat(n)}a:`).join('\n')],
    ['an alias of itself', 'pools: &p\n  a: *p'],
  ])('%s is refused', async (_name, content) => {
    expect((await problemsOf(content)).length).toBeGreaterThan(0);
  });

  test('aliases that multiply are refused', async () => {
    expect(await problemsOf(LAUGHS)).toEqual(['pools.yaml: its aliases do not resolve, or expand too far']);
  });

  test('many keys are looked at once each', async () => {
    const keys = Array.from({ length: 20_000 }, (_, n) => `k${n}: 0`);
    expect((await problemsOf(keys.join('\n')))[0]).toContain('pools.yaml:1');
  });

  test('too large', async () => {
    expect(await problemsOf('#'.repeat(1_048_577))).toEqual(['pools.yaml: is larger than 1048576 bytes']);
  });

  test('not there, or a directory', async () => {
    await expect(readPoolsFile(join(directory, 'none.yaml'))).rejects.toMatchObject({
      problems: ['none.yaml: cannot be read (ENOENT)'],
    });
    await expect(readPoolsFile(directory)).rejects.toMatchObject({
      problems: [expect.stringMatching(/: is not a file$/)],
    });
  });
});

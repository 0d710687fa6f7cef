import { expect, test } from '@jest/globals';
import type { DiscoveryService } from '@nestjs/core';
import { namedProviders } from '../../src/selection/named.providers.js';

const decorator = { KEY: 'key' };

/** A host application with such providers. */
function hostWith(...names: string[]): DiscoveryService {
  const getProviders = ({ metadataKey }: { metadataKey: string }) =>
    metadataKey === decorator.KEY ? names.map((name) => ({ instance: { name } })) : [];
  return { getProviders } as unknown as DiscoveryService;
}

test('built-in providers and those of the host are found by name', () => {
  const found = namedProviders('probers', [{ name: 'proxy' }], hostWith('account'), decorator);
  expect([...found]).toEqual([
    ['proxy', { name: 'proxy' }],
    ['account', { name: 'account' }],
  ]);
});

test.each([[['proxy']], [['account', 'account']]])('two of one name are refused: %j', (names) => {
  const find = () => namedProviders('probers', [{ name: 'proxy' }], hostWith(...names), decorator);
  expect(find).toThrow(`Two probers are named "${names[0]}".`);
});

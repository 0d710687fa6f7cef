import type { DiscoveryService } from '@nestjs/core';

interface Named {
  readonly name: string;
}

/**
 * The built-in providers of a kind, and those of the host application that carry its decorator, by name.
 *
 * @param kind as in "Two <kind> are named …"
 * @param decorator one that `DiscoveryService.createDecorator` made
 * @throws Error when two have one name
 */
export function namedProviders<T extends Named>(
  kind: string,
  builtIn: readonly T[],
  discovery: DiscoveryService,
  decorator: { KEY: string },
): ReadonlyMap<string, T> {
  const hosts = discovery.getProviders({ metadataKey: decorator.KEY }).map((wrapper) => wrapper.instance as T);
  const found = new Map<string, T>();
  for (const provider of [...builtIn, ...hosts]) {
    if (found.has(provider.name)) throw new Error(`Two ${kind} are named "${provider.name}".`);
    found.set(provider.name, provider);
  }
  return found;
}

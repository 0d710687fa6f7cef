import { readLua } from '../../redis/script.loader.js';
import type { MemberIndex } from './selection.strategy.js';

/** The index of a strategy that gives each member a rank, of a kind that the file of `lua/include` with its name defines. */
export function rankedIndex(kind: 'recency' | 'race'): MemberIndex {
  return {
    kind,
    source: readLua(`include/${kind}.lua`) + readLua('include/ranked-index.lua'),
    picking: readLua(`include/${kind}.lua`) + readLua('include/ranked-pick.lua'),
    parts: ['ranks', 'counts'],
  };
}

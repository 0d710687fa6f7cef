import { readLua } from '../../redis/script.loader.js';
import type { MemberIndex } from './selection.strategy.js';

/**
 * The index of a strategy that gives each member a rank.
 *
 * @param kind of the ranks
 * @param ranks the file of `lua/include` that says which rank a member has that enters
 */
export function rankedIndex(kind: string, ranks: string): MemberIndex {
  return {
    kind,
    source: readLua(`include/${ranks}.lua`) + readLua('include/ranked-index.lua'),
    parts: ['ranks', 'counts'],
  };
}

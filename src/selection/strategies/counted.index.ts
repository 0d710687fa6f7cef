import { readLua } from '../../redis/script.loader.js';
import type { MemberIndex } from './selection.strategy.js';

/** The index of strategies that compare assignment counts, and of those that need no index of their own. */
export const COUNTED_INDEX: MemberIndex = {
  kind: 'counted',
  source: readLua('include/counted-index.lua'),
  picking: readLua('include/counted-pick.lua'),
  parts: ['counts'],
};

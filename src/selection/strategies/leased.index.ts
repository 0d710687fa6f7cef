import { readLua } from '../../redis/script.loader.js';
import type { MemberIndex } from './selection.strategy.js';

/** The index of strategies that compare work in progress. */
export const LEASED_INDEX: MemberIndex = {
  kind: 'leased',
  source: readLua('include/load.lua') + readLua('include/leased-index.lua'),
  parts: ['ready', 'full', 'away', 'counts'],
};

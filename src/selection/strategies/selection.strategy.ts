import type { LabelFilter } from '../../eligibility/rules/label.filter.js';
import type { PoolSettings } from '../../pool/pool.settings.js';
import type { PoolKeys } from '../key.names.js';
import type { BatchResult, SelectionRequest, SelectionResult } from '../selection.types.js';

/** A pool as a process remembers it. Scripts read what decides from Redis, so an old copy costs a second call, nothing more. */
export interface PoolConfig {
  readonly name: string;
  readonly settings: PoolSettings;
  readonly keys: PoolKeys;
  /** The filters whose views are whole. */
  readonly ready: readonly LabelFilter[];
  /** The keys of the strategy's index, in the order of its parts. */
  readonly indexKeys: readonly string[];
}

/**
 * How members enter and leave what a strategy orders. The pool's scripts are composed with `source`, the body of a Lua
 * function that gets the index's keys and returns a table of operations; lua/include/counted-index.lua is the model.
 */
export interface MemberIndex {
  /** Two strategies whose indexes are of one kind can hand it over to each other as it is. */
  readonly kind: string;
  readonly source: string;
  /** The body of another function of these keys, with what narrowed picks need; lua/include/counted-pick.lua is the model. */
  readonly picking?: string;
  /** Last parts of the index's keys. */
  readonly parts: readonly string[];
}

/** The rule that orders the eligible members of a pool. */
export interface SelectionStrategy {
  readonly name: string;
  /** Whether requests may ask for `labels`, `exclude`, `target` and `session`; absent for no. */
  readonly narrows?: boolean;
  /** Absent: the index of counts, which a strategy that needs no index of its own can leave to the pool. */
  readonly index?: MemberIndex;
  /**
   * Picks one eligible member and counts it, in one atomic step, or says why there is none to pick.
   *
   * @throws PoolOutdatedError when the pool is not as `pool` says; the caller reads it again and repeats
   */
  select(pool: PoolConfig, request: SelectionRequest, signal?: AbortSignal): Promise<SelectionResult>;
  /** As many selections as `count` single ones in a row would give, in one atomic step. Absent: single ones in a row. */
  selectBatch?(pool: PoolConfig, count: number, request: SelectionRequest): Promise<BatchResult>;
}

import { type LabelFilter, filterIdOf } from '../eligibility/rules/label.filter.js';
import { viewNameOf } from '../eligibility/rules/view.names.js';
import { FilterNotDeclaredError, FilterNotReadyError } from '../errors/domain.errors.js';
import type { SelectionRequest } from './selection.types.js';
import type { PoolConfig } from './strategies/selection.strategy.js';

/** What a request leaves of a pool, as scripts take it; empty texts stand for what it does not ask for. */
export interface Narrowing {
  /** The filter that `labels` ask for, as the settings name it. */
  filter: string;
  /** The view of the members that have them. */
  view: string;
  target: string;
  session: string;
  exclude: readonly string[];
}

/** All of the pool. */
export const NOT_NARROW: Narrowing = { filter: '', view: '', target: '', session: '', exclude: [] };

/** Whether a request is content with some of the members only, or with one. */
export function isNarrow({ labels, exclude, target, session }: SelectionRequest): boolean {
  return (
    target !== undefined ||
    session !== undefined ||
    (exclude !== undefined && exclude.length > 0) ||
    (labels !== undefined && Object.keys(labels).length > 0)
  );
}

/** What scripts take of it, in their order. */
export function narrowingArguments({ filter, view, target, session, exclude }: Narrowing): string[] {
  return [filter, view, target === '' ? '' : '1', session, ...exclude];
}

/** @throws FilterNotDeclaredError | FilterNotReadyError */
export function narrowingOf(
  pool: PoolConfig,
  { labels = {}, exclude = [], target, session }: SelectionRequest,
): Narrowing {
  const filter = Object.keys(labels).sort();
  const rest = { target: target ?? '', session: session ?? '', exclude };
  if (filter.length === 0) return { filter: '', view: '', ...rest };
  requireFilter(pool, filter);
  return { filter: filterIdOf(filter), view: viewNameOf(filter, labels), ...rest };
}

function requireFilter({ name, settings, ready }: PoolConfig, filter: LabelFilter): void {
  const id = filterIdOf(filter);
  const isIn = (filters: readonly LabelFilter[]) => filters.some((each) => filterIdOf(each) === id);
  if (!isIn(settings.filters)) throw new FilterNotDeclaredError(name, filter, settings.filters);
  if (!isIn(ready)) throw new FilterNotReadyError(name, filter);
}

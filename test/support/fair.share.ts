import type { PoolView } from '../../src/pool/pool.service.js';
import type { MemberView } from '../../src/pool/member.js';
import type { SelectionApp } from './selection.app.js';

/** What Redis says of a pool's selections. */
export interface Share {
  /** The pool's own count of its selections. */
  assigned: number;
  /** The members' counts, added up. */
  sum: number;
  min: number;
  max: number;
  /** Id -> how often the member was selected. */
  counts: Record<string, number>;
}

/** Reads a pool and all of its members, a page at a time. */
export async function shareOf({ pools }: Pick<SelectionApp, 'pools'>, name: string): Promise<Share> {
  const pool: PoolView = await pools.get(name);
  const members: MemberView[] = [];
  let cursor: string | undefined;
  do {
    const page = await pools.listMembers(name, { limit: 1_000, ...(cursor !== undefined && { cursor }) });
    members.push(...page.members);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  const counts = Object.fromEntries(members.map(({ id, assigned }) => [id, assigned]));
  const numbers = Object.values(counts);
  const sum = numbers.reduce((total, count) => total + count, 0);
  return { assigned: pool.assigned, sum, min: Math.min(...numbers), max: Math.max(...numbers), counts };
}

/** So many addresses of documentation as proxies, one a line; all different up to 762. */
export function proxyLines(count: number): string {
  const blocks = ['192.0.2', '198.51.100', '203.0.113'];
  return Array.from({ length: count }, (_, n) => `${blocks[n % 3]}.${1 + Math.floor(n / 3)}:8080`).join('\n');
}

/** Adds tallies up, id by id. */
export function addTallies(tallies: readonly Record<string, number>[]): Record<string, number> {
  const total: Record<string, number> = {};
  for (const tally of tallies) for (const [id, count] of Object.entries(tally)) total[id] = (total[id] ?? 0) + count;
  return total;
}

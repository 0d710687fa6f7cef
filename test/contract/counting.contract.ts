import { expect, test } from '@jest/globals';
import type { Selection } from '../../src/selection/selection.types.js';
import { shareOf } from '../support/fair.share.js';
import { type ContractSubject, POOL } from './contract.subject.js';

const MEMBERS = Array.from({ length: 20 }, (_, n) => `m${n}`);

/** Every selection is counted once: in the pool, in the member, and in the answer. */
export function describeCounting(subject: ContractSubject): void {
  /** Many at once, from both applications in turn. */
  async function selectMany(times: number): Promise<Selection[]> {
    const apps = [subject.app, subject.other];
    const answers = Array.from({ length: times }, (_, n) => apps[n % 2]!.selection.select(POOL));
    return (await Promise.all(answers)).map(({ selection }) => selection!);
  }

  test('selections at the same time are all counted, and each answer has a count of its own', async () => {
    await subject.fill(MEMBERS);
    const selections = await selectMany(1_000);
    const share = await shareOf(subject.app, POOL);
    expect(share).toMatchObject({ assigned: 1_000, sum: 1_000 });
    expect(answeredCounts(selections)).toEqual(countsUpTo(share.counts));
  });

  test('a batch gives as many selections as it was asked for, also more than there are members', async () => {
    await subject.fill(['a', 'b', 'c']);
    for (const count of [1, 2, 50]) {
      const batch = await subject.app.selection.selectBatch(POOL, { count });
      expect(batch).toMatchObject({ reason: null, retryAfterMs: null });
      expect(batch.selections).toHaveLength(count);
    }
    expect(await shareOf(subject.app, POOL)).toMatchObject({ assigned: 53, sum: 53 });
  });

  test('batches and single selections at the same time are all counted', async () => {
    await subject.fill(MEMBERS);
    const batches = Array.from({ length: 20 }, () => subject.other.selection.selectBatch(POOL, { count: 25 }));
    const selections = await selectMany(200);
    selections.push(...(await Promise.all(batches)).flatMap((batch) => batch.selections));
    const share = await shareOf(subject.app, POOL);
    expect(share).toMatchObject({ assigned: 700, sum: 700 });
    expect(answeredCounts(selections)).toEqual(countsUpTo(share.counts));
  });

  test('weights are kept, and do not change what is counted', async () => {
    await subject.fill([
      { id: 'a', weight: 7 },
      { id: 'b', weight: 1 },
      { id: 'c', weight: 100 },
    ]);
    const selections = await selectMany(216);
    const { members } = await subject.app.pools.listMembers(POOL);
    expect(members.map(({ id, weight }) => [id, weight])).toEqual([
      ['a', 7],
      ['b', 1],
      ['c', 100],
    ]);
    const share = await shareOf(subject.app, POOL);
    expect(share).toMatchObject({ assigned: 216, sum: 216 });
    expect(answeredCounts(selections)).toEqual(countsUpTo(share.counts));
  });

  test('SCRIPT FLUSH at any moment does no harm', async () => {
    await subject.fill(MEMBERS);
    for (let round = 0; round < 20; round++) {
      const selecting = selectMany(20);
      await subject.redis.script('FLUSH');
      expect(await selecting).not.toContain(null);
    }
    expect(await shareOf(subject.app, POOL)).toMatchObject({ assigned: 400, sum: 400 });
  });
}

/** Id -> the counts that the answers told, in order. */
function answeredCounts(selections: readonly Selection[]): Record<string, number[]> {
  const told: Record<string, number[]> = {};
  for (const { member, assigned } of selections) (told[member.id] ??= []).push(assigned);
  for (const counts of Object.values(told)) counts.sort((a, b) => a - b);
  return told;
}

/** Id -> 1, 2, 3 … up to its count; who was never selected told nothing. */
function countsUpTo(counts: Record<string, number>): Record<string, number[]> {
  const selected = Object.entries(counts).filter(([, count]) => count > 0);
  return Object.fromEntries(selected.map(([id, count]) => [id, Array.from({ length: count }, (_, n) => n + 1)]));
}

import { expect, test } from '@jest/globals';
import { shareOf } from '../support/fair.share.js';
import { importMembers } from '../support/selection.app.js';
import { type ContractSubject, POOL } from './contract.subject.js';

/** Nobody but eligible members is selected, and where there is none the answer says why. */
export function describeWhoIsSelected(subject: ContractSubject): void {
  test('an empty pool answers null, and says that it is empty', async () => {
    await subject.fill([]);
    const { selection } = subject.app;
    expect(await selection.select(POOL)).toEqual({ selection: null, reason: 'EMPTY_POOL', retryAfterMs: null });
    const batch = await selection.selectBatch(POOL, { count: 5 });
    expect(batch).toEqual({ selections: [], reason: 'EMPTY_POOL', retryAfterMs: null });
    expect((await subject.app.pools.get(POOL)).assigned).toBe(0);
  });

  test('a pool whose members are all withdrawn answers null, and says so', async () => {
    await subject.fill(['a', 'b']);
    for (const id of ['a', 'b']) await subject.app.pools.patchMember(POOL, id, { state: 'disabled' });
    expect(await subject.app.selection.select(POOL)).toMatchObject({ selection: null, reason: 'NONE_ELIGIBLE' });
    const batch = await subject.app.selection.selectBatch(POOL, { count: 5 });
    expect(batch).toMatchObject({ selections: [], reason: 'NONE_ELIGIBLE' });
  });

  test('a selection tells the member, its value and its labels, and how often it was selected', async () => {
    await subject.fill([]);
    await importMembers(subject.app, POOL, [{ id: 'a', value: 'secret', labels: { country: 'DE' } }]);
    await subject.pick();
    expect((await subject.app.selection.select(POOL)).selection).toMatchObject({
      member: { id: 'a', value: 'secret', labels: { country: 'DE' } },
      assigned: 2,
    });
  });

  test('a pool that does not exist, or was deleted while it was remembered, is refused', async () => {
    await expect(subject.pick()).rejects.toMatchObject({ code: 'POOL_NOT_FOUND' });
    await subject.fill(['a']);
    await subject.pick(subject.other);
    await subject.app.pools.delete(POOL);
    await expect(subject.pick(subject.other)).rejects.toMatchObject({ code: 'POOL_NOT_FOUND' });
  });

  test('a withdrawn member is never selected, also by those who ask while it is withdrawn, until it is back', async () => {
    await subject.fill(['a', 'b', 'c']);
    for (let round = 0; round < 10; round++) {
      const before = Array.from({ length: 20 }, () => subject.pick(subject.other));
      await subject.app.pools.patchMember(POOL, 'a', { state: 'disabled' });
      const after = await Promise.all(Array.from({ length: 20 }, () => subject.pick(subject.other)));
      expect(after).not.toContain('a');
      expect(await Promise.all(before)).not.toContain(undefined);
      await subject.app.pools.patchMember(POOL, 'a', { state: 'eligible' });
    }
    // A selection that was on its way when its member was withdrawn is counted where it was made, or made elsewhere.
    expect(await shareOf(subject.app, POOL)).toMatchObject({ assigned: 400, sum: 400 });
    for (const id of ['b', 'c']) await subject.app.pools.patchMember(POOL, id, { state: 'disabled' });
    expect(await subject.pick()).toBe('a');
  });

  test('a removed member is never selected, and can be once it was imported again', async () => {
    await subject.fill(['a', 'b']);
    for (let n = 0; n < 10; n++) await subject.pick();
    await subject.app.pools.removeMember(POOL, 'a');
    for (let n = 0; n < 30; n++) expect(await subject.pick()).toBe('b');
    await importMembers(subject.app, POOL, ['a']);
    await subject.app.pools.removeMember(POOL, 'b');
    expect(await subject.pick()).toBe('a');
  });

  test('a new member can be selected at once', async () => {
    await subject.fill([]);
    expect(await subject.pick(subject.other)).toBeUndefined();
    await importMembers(subject.app, POOL, ['a']);
    expect(await subject.pick(subject.other)).toBe('a');
  });
}

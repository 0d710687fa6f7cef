import { expect, test } from '@jest/globals';
import { StrategyRegistry } from '../../src/selection/strategies/strategy.registry.js';
import { shareOf } from '../support/fair.share.js';
import { type ContractSubject, POOL } from './contract.subject.js';

const MEMBERS = Array.from({ length: 12 }, (_, n) => `m${n}`).sort();
const LOWEST = MEMBERS[0];

/** A pool can change to the strategy and away from it, at any time and under everybody's eyes. */
export function describeChangesOfStrategy(subject: ContractSubject): void {
  const change = (strategy: string) => subject.app.pools.put(POOL, { strategy });

  async function pickMany(app: ContractSubject['app'], times: number): Promise<Set<string | undefined>> {
    const ids = new Set<string | undefined>();
    for (let n = 0; n < times; n++) ids.add(await subject.pick(app));
    return ids;
  }

  test('members, their state and their counts survive a change of strategy and the way back', async () => {
    await subject.fill(MEMBERS.map((id, n) => ({ id, weight: n + 1, labels: { n: String(n) } })));
    await pickMany(subject.app, 60);
    await subject.app.pools.patchMember(POOL, 'm3', { state: 'disabled' });
    const before = await subject.app.pools.listMembers(POOL);
    for (const strategy of ['lowest-id', subject.strategy]) {
      const { pool } = await change(strategy);
      expect(pool).toMatchObject({ strategy, assigned: 60, members: { total: 12, eligible: 11, withdrawn: 1 } });
      expect(await subject.app.pools.listMembers(POOL)).toEqual(before);
    }
    expect(await pickMany(subject.app, 30)).not.toContain('m3');
    expect(await shareOf(subject.app, POOL)).toMatchObject({ assigned: 90, sum: 90 });
  });

  test('a process that remembers another strategy selects by the new one at once', async () => {
    await subject.fill(MEMBERS);
    await pickMany(subject.other, 5);
    await change('lowest-id');
    expect(await pickMany(subject.other, 20)).toEqual(new Set([LOWEST]));
    await change(subject.strategy);
    // 60 picks of one member among twelve: less likely than 1 in 10^60 for a strategy that picks at random.
    expect((await pickMany(subject.other, 60)).size).toBeGreaterThan(1);
    expect(await shareOf(subject.app, POOL)).toMatchObject({ assigned: 85, sum: 85 });
  });

  test('changes under load lose no selection and count none twice', async () => {
    await subject.fill(MEMBERS);
    let changing = true;
    let selected = 0;
    const select = async (app: ContractSubject['app']) => {
      while (changing) if (await subject.pick(app)) selected += 1;
    };
    const load = [subject.app, subject.other, subject.app, subject.other].map(select);
    for (let n = 0; n < 20; n++) await change(n % 2 === 0 ? 'lowest-id' : subject.strategy).catch(unlessBusy);
    changing = false;
    await Promise.all(load);
    expect(await shareOf(subject.app, POOL)).toMatchObject({ assigned: selected, sum: selected });
    expect(selected).toBeGreaterThan(0);
  });

  test('an unknown strategy is refused with the list of those that are known, and the pool stays as it was', async () => {
    await subject.fill(MEMBERS);
    const known = subject.app.context.get(StrategyRegistry).names();
    expect(known).toEqual(expect.arrayContaining(['least-assigned', 'lowest-id', subject.strategy]));
    const refusal = { code: 'STRATEGY_UNKNOWN', known };
    await expect(change('fastest')).rejects.toMatchObject(refusal);
    expect((await subject.app.pools.get(POOL)).strategy).toBe(subject.strategy);
    await expect(subject.app.pools.put('another', { strategy: 'fastest' })).rejects.toMatchObject(refusal);
    await expect(subject.app.pools.get('another')).rejects.toMatchObject({ code: 'POOL_NOT_FOUND' });
  });
}

/** Live leases keep a pool at its strategy; a change is then refused and leaves everything as it was. */
function unlessBusy(error: unknown): void {
  expect(error).toMatchObject({ code: 'POOL_BUSY' });
}

import { expect, test } from '@jest/globals';
import { withinTime } from '../../../../src/eligibility/probe/time.limit.js';

const never = new AbortController().signal;
const unending = new Promise<never>(() => undefined);

test('what the work tied to its signal ends with the work', async () => {
  let signal = never;
  const work = async (over: AbortSignal) => {
    signal = over;
    expect(over.aborted).toBe(false);
    return 'done';
  };
  expect(await withinTime(60_000, never, work)).toBe('done');
  expect(signal.aborted).toBe(true);
});

test('work that fails fails as it did', async () => {
  const error = new Error('of the work');
  await expect(withinTime(60_000, never, () => Promise.reject(error))).rejects.toBe(error);
});

test('work that does not heed its signal is not waited for', async () => {
  await expect(withinTime(50, never, () => unending)).rejects.toMatchObject({ reason: 'timeout' });
  const caller = new AbortController();
  const working = withinTime(60_000, caller.signal, () => unending);
  caller.abort(new Error('shutdown'));
  await expect(working).rejects.toMatchObject({ reason: 'aborted' });
});

test('work that is called off already is not begun', async () => {
  let begun = false;
  const work = async () => void (begun = true);
  await expect(withinTime(60_000, AbortSignal.abort(), work)).rejects.toMatchObject({ reason: 'aborted' });
  expect(begun).toBe(false);
});

import { afterEach, expect, test } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { BodyMatcher, MATCH_BUDGET_MS } from '../../../../src/eligibility/probe/body.matcher.js';

const ENDLESS: [pattern: string, text: string] = ['^(a+)+$', `${'a'.repeat(60)}!`];
const never = new AbortController().signal;

let matcher = new BodyMatcher();
afterEach(async () => {
  await matcher.close();
  matcher = new BodyMatcher();
});

test('a pattern matches anywhere in the text, letters of every script included', async () => {
  expect(await matcher.match('\\p{Lu}{2}', 'äÖÜß', never)).toBe('yes');
  expect(await matcher.match('^Ö', 'äÖÜß', never)).toBe('no');
});

test('many at once get each their own verdict', async () => {
  const numbers = Array.from({ length: 100 }, (_, n) => n);
  const verdicts = await Promise.all(numbers.map((n) => matcher.match('^\\d*[02468]$', String(n), never)));
  expect(verdicts).toEqual(numbers.map((n) => (n % 2 === 0 ? 'yes' : 'no')));
});

test('a pattern that backtracks for ever is stopped, without holding up the event loop', async () => {
  const { active } = performance.eventLoopUtilization();
  const endless = Array.from({ length: 5 }, () => matcher.match(...ENDLESS, never));
  expect(await Promise.all(endless)).toEqual(['late', 'late', 'late', 'late', 'late']);
  const busyMs = performance.eventLoopUtilization().active - active;
  // In this thread they would have kept it busy all the time, for 1,000 ms.
  expect(busyMs).toBeLessThan(endless.length * MATCH_BUDGET_MS * 0.5);
  expect(await matcher.match('a', 'a', never)).toBe('yes');
});

test('a match that is under way is not waited for when its caller gives up', async () => {
  const caller = new AbortController();
  await matcher.match('a', 'a', never);
  const matching = matcher.match(...ENDLESS, caller.signal);
  // By then the thread has it.
  await setImmediate();
  caller.abort();
  await expect(matching).rejects.toMatchObject({ reason: 'aborted' });
});

test('who has given up waiting does not hold up those behind', async () => {
  const caller = new AbortController();
  const first = matcher.match(...ENDLESS, never);
  const given = Array.from({ length: 1_000 }, () => matcher.match(...ENDLESS, caller.signal));
  const last = matcher.match('a', 'a', never);
  caller.abort();
  for (const outcome of await Promise.allSettled(given)) {
    expect(outcome).toMatchObject({ status: 'rejected', reason: { reason: 'aborted' } });
  }
  // With the thousand before it, it would come after 200 seconds.
  expect([await first, await last]).toEqual(['late', 'yes']);
});

test('a pattern that needs too much memory fails, and the next one is matched', async () => {
  const verdict = await matcher.match('(?:(?:(?:(?:a{99}){99}){99}){99})', 'a'.repeat(65_536), never);
  expect(['late', 'failed']).toContain(verdict);
  expect(await matcher.match('a', 'a', never)).toBe('yes');
});

test('a match that is under way when the thread ends fails', async () => {
  const matching = matcher.match(...ENDLESS, never);
  await matcher.match('a', 'a', AbortSignal.abort()).catch(() => undefined);
  await matcher.close();
  expect(await matching).toBe('failed');
  expect(await matcher.match('a', 'a', never)).toBe('yes');
});

import { setImmediate as endOfTurn } from 'node:timers/promises';
import { beforeEach, expect, test } from '@jest/globals';
import { CallGatherer } from '../../../src/selection/calls/call.gatherer.js';
import { CallTraffic } from '../../../src/selection/calls/call.traffic.js';

const DIRECT_BELOW = 2;

/** What went out, in this order, and how each is answered. */
let sent: { asks: readonly number[]; answer: () => void; fail: (error: Error) => void }[];
let traffic: CallTraffic;
let gatherer: CallGatherer<number, string>;

beforeEach(() => {
  sent = [];
  traffic = new CallTraffic();
  gatherer = new CallGatherer(traffic, DIRECT_BELOW, async (ask) => (await send([ask]))[0] as string, send);
});

function send(asks: readonly number[]): Promise<string[]> {
  return new Promise((resolve, reject) => {
    sent.push({ asks, answer: () => resolve(asks.map((ask) => `answer ${ask}`)), fail: reject });
  });
}

function call(from: number, to: number): Promise<string>[] {
  return Array.from({ length: to - from + 1 }, (_, n) => gatherer.call(from + n));
}

const asked = () => sent.map(({ asks }) => asks);

test('calls go at once while few are under way, and those beyond in one at the end of the turn', async () => {
  const calls = call(1, 5);
  expect(asked()).toEqual([[1], [2]]);
  await endOfTurn();
  expect(asked()).toEqual([[1], [2], [3, 4, 5]]);
  for (const { answer } of sent) answer();
  expect(await Promise.all(calls)).toEqual([1, 2, 3, 4, 5].map((ask) => `answer ${ask}`));
  expect(traffic.underWay).toBe(0);
});

test('a call does not overtake those that wait for the end of the turn, though there is room for it by now', async () => {
  const [first] = call(1, 3);
  sent[0]?.answer();
  await first;
  void gatherer.call(4);
  expect(asked()).toEqual([[1], [2]]);
  await endOfTurn();
  expect(asked().slice(2)).toEqual([[3, 4]]);
});

test.each([
  [40, [16, 16, 8]],
  [200, [25, 25, 25, 25, 25, 25, 25, 25]],
  [300, [32, 32, 32, 32, 32, 32, 32, 32, 32, 12]],
])('%p calls go out in batches of %p, in their order', async (count, sizes) => {
  traffic.underWay = DIRECT_BELOW;
  void call(1, count);
  await endOfTurn();
  expect(asked().map(({ length }) => length)).toEqual(sizes);
  expect(asked().flat()).toEqual(Array.from({ length: count }, (_, n) => n + 1));
  expect(traffic.underWay).toBe(DIRECT_BELOW + count);
});

test('what a batch fails with is thrown to each of its callers, and they are under way no longer', async () => {
  traffic.underWay = DIRECT_BELOW;
  const calls = call(1, 3);
  await endOfTurn();
  sent[0]?.fail(new Error('away'));
  for (const result of await Promise.allSettled(calls)) expect(result).toMatchObject({ reason: { message: 'away' } });
  expect(traffic.underWay).toBe(DIRECT_BELOW);
});

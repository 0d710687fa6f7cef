import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { LeaseService } from '../../src/selection/leases/lease.service.js';
import type { SelectionRequest, SelectionResult } from '../../src/selection/selection.types.js';
import { importMembers, type SelectionApp, startSelection } from '../support/selection.app.js';
import { useSelection } from '../support/use.selection.js';
import { waitUntil } from '../support/wait.until.js';

const setup = useSelection();
const POOL = 'shop';
const DE = { labels: { country: 'DE' } };
const FR = { labels: { country: 'FR' } };
let other: SelectionApp;

beforeAll(async () => {
  other = await startSelection(setup.server.url);
});
afterAll(() => other.close());

/** One member of each country, each with room for one lease, all lent. */
async function fillAndTake(): Promise<Record<string, string>> {
  await setup.app.pools.put(POOL, { strategy: 'least-concurrency', capacity: 1, filters: [['country']] });
  const members = ['DE', 'FR'].map((country) => ({ id: country, labels: { country } }));
  await importMembers(setup.app, POOL, members);
  const { selections } = await setup.app.selection.selectBatch(POOL, { count: 2 });
  return Object.fromEntries(selections.map(({ member, lease }) => [member.id, lease!.id]));
}

/** A wait that has come into the line; the n-th, counted from one. */
async function stand(n: number, request: SelectionRequest, app = setup.app, signal?: AbortSignal) {
  const wait = app.selection.select(POOL, { waitMs: 30_000, ...request }, signal);
  await waitUntil(async () => (await setup.app.pools.get(POOL)).waiters >= n);
  return { wait };
}

const free = (lease: string) => setup.app.context.get(LeaseService).complete(POOL, lease);
const idOf = ({ selection }: SelectionResult) => selection?.member.id;

/** The lines of those who wait stand among the views. */
async function linesAreEmpty(): Promise<void> {
  const entries = await setup.redis.zrange(`evenhand:{${POOL}}:views`, '0', '-1');
  expect(entries.filter((entry) => entry.startsWith('!'))).toEqual([]);
  expect((await setup.app.pools.get(POOL)).waiters).toBe(0);
}

test('what is free goes to whoever came first among those whom it serves', async () => {
  const lent = await fillAndTake();
  const french = await stand(1, FR, other);
  const german = await stand(2, DE);
  const anybody = await stand(3, {}, other);
  await free(lent['DE']!);
  const first = await german.wait;
  expect(idOf(first)).toBe('DE');
  await free(first.selection!.lease!.id);
  expect(idOf(await anybody.wait)).toBe('DE');
  await free(lent['FR']!);
  expect(idOf(await french.wait)).toBe('FR');
  await linesAreEmpty();
});

test('of one who waits for any member and one who waits for a view the elder comes first', async () => {
  const lent = await fillAndTake();
  const anybody = await stand(1, {});
  const german = await stand(2, DE, other);
  await free(lent['DE']!);
  const first = await anybody.wait;
  expect(idOf(first)).toBe('DE');
  await free(first.selection!.lease!.id);
  expect(idOf(await german.wait)).toBe('DE');
  await linesAreEmpty();
});

test('whoever comes takes only what serves nobody who waits', async () => {
  const lent = await fillAndTake();
  const german = await stand(1, DE);
  await free(lent['FR']!);
  expect(idOf(await setup.app.selection.select(POOL))).toBe('FR');
  expect(await other.selection.select(POOL)).toMatchObject({ selection: null, reason: 'AT_CAPACITY' });
  await free(lent['DE']!);
  expect(idOf(await german.wait)).toBe('DE');
  await linesAreEmpty();
});

test('a wait for a view that ends without a member leaves no trace', async () => {
  await fillAndTake();
  expect(await setup.app.selection.select(POOL, { ...DE, waitMs: 100 })).toMatchObject({ selection: null });
  const hangUp = new AbortController();
  const { wait } = await stand(1, FR, setup.app, hangUp.signal);
  hangUp.abort();
  await wait.catch(() => undefined);
  await waitUntil(async () => (await setup.app.pools.get(POOL)).waiters === 0);
  await linesAreEmpty();
});

test('a member that comes into a view serves those who wait for it', async () => {
  await fillAndTake();
  const italian = await stand(1, { labels: { country: 'IT' } });
  await importMembers(setup.app, POOL, [{ id: 'IT', labels: { country: 'IT' } }]);
  expect(idOf(await italian.wait)).toBe('IT');
  await linesAreEmpty();
});

test('a repeat with the same requestId joins the wait for a view', async () => {
  const lent = await fillAndTake();
  const request = { ...DE, requestId: 'r1' };
  const { wait } = await stand(1, request);
  const repeat = other.selection.select(POOL, { ...request, waitMs: 30_000 });
  await free(lent['DE']!);
  expect((await repeat).selection?.lease?.id).toBe((await wait).selection!.lease!.id);
  await linesAreEmpty();
});

import { describe, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { REDIS_CLIENT } from '../../src/redis/redis.tokens.js';
import { givePool, importMembers, startSelection, tally } from '../support/selection.app.js';
import { useSelection } from '../support/use.selection.js';

const setup = useSelection();

const text = (...lines: string[]) => ({ format: 'text' as const, body: lines.join('\n') });
const idsOf = async (pool: string) =>
  (await setup.app.pools.listMembers(pool, { limit: 1_000 })).members.map(({ id }) => id);

/** Everything that Redis holds, to show that nothing changed. */
async function everything(): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const key of (await setup.redis.keys('*')).sort()) {
    found[key] = (await setup.redis.dumpBuffer(key)).toString('base64');
  }
  return found;
}

describe('an import', () => {
  test('reports what it did, and a second one changes nothing', async () => {
    await setup.app.pools.put('shop');
    const list = text(
      '192.0.2.1:8080',
      'socks5://198.51.100.7:1080',
      '',
      '# ours',
      '192.0.2.1:8080',
      'rubbish',
      '192.0.2.2:99999',
    );
    expect(await setup.app.pools.importMembers('shop', list)).toMatchObject({
      added: 2,
      updated: 0,
      restored: 0,
      unchanged: 0,
      duplicates: 1,
      removed: 0,
      total: 2,
      rejectedTotal: 2,
      rejected: [{ line: 6 }, { line: 7 }],
    });
    const before = await everything();
    expect(await setup.app.pools.importMembers('shop', list)).toMatchObject({ added: 0, unchanged: 2, total: 2 });
    expect(await everything()).toEqual(before);
  });

  test('into a pool that does not exist is refused', async () => {
    await expect(setup.app.pools.importMembers('nowhere', text('192.0.2.1:80'))).rejects.toMatchObject({
      code: 'POOL_NOT_FOUND',
    });
  });

  test('keeps what the list does not name', async () => {
    await givePool(setup.app, 'shop', [{ id: 'a', weight: 3, labels: { country: 'DE' } }]);
    expect(await importMembers(setup.app, 'shop', ['a'])).toMatchObject({ unchanged: 1, updated: 0 });
    expect(await importMembers(setup.app, 'shop', [{ id: 'a', labels: { country: 'FR' } }])).toMatchObject({
      updated: 1,
    });
    expect(await setup.app.pools.getMember('shop', 'a')).toMatchObject({ weight: 3, labels: { country: 'FR' } });
  });

  test('dry: reports and writes nothing', async () => {
    await givePool(setup.app, 'shop', ['a', 'b', 'gone']);
    await setup.app.pools.removeMember('shop', 'gone');
    const before = await everything();
    const report = await importMembers(setup.app, 'shop', ['a', 'gone', 'new'], { mode: 'replace', dryRun: true });
    expect(report).toMatchObject({ added: 1, restored: 1, unchanged: 1, removed: 1, total: 3 });
    const after = await everything();
    delete after['evenhand:password-tag-key'];
    delete before['evenhand:password-tag-key'];
    expect(after).toEqual(before);
    expect(await importMembers(setup.app, 'shop', ['a', 'gone', 'new'], { mode: 'replace' })).toEqual(report);
  });

  test('with replace removes the others, last', async () => {
    await givePool(
      setup.app,
      'shop',
      Array.from({ length: 600 }, (_, n) => `old${n}`),
    );
    await setup.app.pools.patchMember('shop', 'old7', { state: 'disabled' });
    expect(await importMembers(setup.app, 'shop', ['new', 'old3'], { mode: 'replace' })).toMatchObject({
      added: 1,
      unchanged: 1,
      removed: 599,
      total: 2,
    });
    expect(await idsOf('shop')).toEqual(['new', 'old3']);
  });

  test('with replace and nothing but rubbish is refused and changes nothing', async () => {
    await givePool(setup.app, 'shop', ['a']);
    const before = await everything();
    await expect(
      setup.app.pools.importMembers('shop', text('rubbish', 'more'), { mode: 'replace' }),
    ).rejects.toMatchObject({
      code: 'EMPTY_SOURCE',
      rejectedTotal: 2,
    });
    expect(await everything()).toEqual(before);
  });

  test('never enables a member that was disabled, though it was removed in between', async () => {
    await givePool(setup.app, 'shop', ['a', 'b']);
    await setup.app.pools.patchMember('shop', 'a', { state: 'disabled' });
    await importMembers(setup.app, 'shop', ['a', 'b']);
    expect(await setup.app.pools.getMember('shop', 'a')).toMatchObject({ state: 'withdrawn', reason: 'disabled' });
    await importMembers(setup.app, 'shop', ['b'], { mode: 'replace' });
    expect(await importMembers(setup.app, 'shop', ['a'])).toMatchObject({ restored: 1 });
    expect(await setup.app.pools.getMember('shop', 'a')).toMatchObject({ state: 'withdrawn', reason: 'disabled' });
    expect(await tally(setup.app, 'shop', 4)).toEqual({ b: 4 });
  });

  test('that was cut off half way can be repeated and ends right', async () => {
    await givePool(setup.app, 'shop', ['stays', 'goes']);
    const ids = ['stays', ...Array.from({ length: 2_000 }, (_, n) => `m${n}`)];
    const half = await startSelection(setup.server.url);
    const connection = await half.context.get<Redis>(REDIS_CLIENT).client('ID');
    const cutOff = importMembers(half, 'shop', ids, { mode: 'replace' });
    const failure = expect(cutOff).rejects.toThrow();
    while ((await setup.app.pools.get('shop')).members.total < 3) await new Promise(setImmediate);
    await setup.redis.call('CLIENT', 'KILL', 'ID', connection);
    await failure;
    await half.close();
    expect(await setup.app.pools.getMember('shop', 'goes')).toMatchObject({ state: 'eligible' });

    await setup.redis.del('evenhand:{shop}:lock');
    await importMembers(setup.app, 'shop', ids, { mode: 'replace' });
    expect((await setup.app.pools.get('shop')).members.total).toBe(2_001);
    await expect(setup.app.pools.getMember('shop', 'goes')).rejects.toMatchObject({ code: 'MEMBER_NOT_FOUND' });
  });

  test('is refused while another one runs, and one whose lock was taken stops', async () => {
    await givePool(setup.app, 'shop', ['a']);
    await setup.redis.set('evenhand:{shop}:lock', 'somebody', 'PX', 60_000);
    await expect(importMembers(setup.app, 'shop', ['b'])).rejects.toMatchObject({ code: 'IMPORT_RUNNING' });
    await setup.redis.del('evenhand:{shop}:lock');

    const running = importMembers(
      setup.app,
      'shop',
      Array.from({ length: 5_000 }, (_, n) => `m${n}`),
    );
    const failure = expect(running).rejects.toMatchObject({ code: 'IMPORT_RUNNING' });
    while ((await setup.app.pools.get('shop')).members.total < 2) await new Promise(setImmediate);
    await setup.redis.set('evenhand:{shop}:lock', 'somebody', 'PX', 60_000);
    await failure;
    expect(await setup.redis.get('evenhand:{shop}:lock')).toBe('somebody');
  });

  test('gives members that differ only in their password ids of their own, the same in every process', async () => {
    await setup.app.pools.put('shop');
    const list = text('http://bob:one@192.0.2.1:8080', 'http://bob:two@192.0.2.1:8080', 'http://bob@192.0.2.1:8080');
    expect(await setup.app.pools.importMembers('shop', list)).toMatchObject({ added: 3 });
    const ids = await idsOf('shop');
    expect(ids).toEqual([
      'http://bob@192.0.2.1:8080',
      expect.stringMatching(/^http:\/\/bob@192\.0\.2\.1:8080#[0-9a-f]{8}$/),
      expect.stringMatching(/^http:\/\/bob@192\.0\.2\.1:8080#[0-9a-f]{8}$/),
    ]);
    const other = await startSelection(setup.server.url);
    expect(await other.pools.importMembers('shop', list)).toMatchObject({ unchanged: 3 });
    await other.close();
    const values = (await setup.app.selection.selectBatch('shop', { count: 3 })).selections.map(
      ({ member }) => member.value,
    );
    expect(values.sort()).toEqual([
      'http://bob:one@192.0.2.1:8080',
      'http://bob:two@192.0.2.1:8080',
      'http://bob@192.0.2.1:8080',
    ]);
  });
});

describe('history of removed members', () => {
  test('is bounded, and the latest stay', async () => {
    const { HISTORY_MAX } = await import('../../src/pool/member.catalogue.js');
    await givePool(setup.app, 'shop', ['a', 'b', 'c']);
    const old = Array.from({ length: HISTORY_MAX }, (_, n) => n);
    for (let at = 0; at < old.length; at += 10_000) {
      const some = old.slice(at, at + 10_000);
      await setup.redis.zadd('evenhand:{shop}:removed', ...some.flatMap((n) => [n, `x${n}`]));
      await setup.redis.hset('evenhand:{shop}:history', ...some.flatMap((n) => [`x${n}`, '0 0 - -']));
    }
    await setup.app.pools.removeMember('shop', 'a');
    await setup.app.pools.removeMember('shop', 'b');
    expect(await setup.redis.zcard('evenhand:{shop}:removed')).toBe(HISTORY_MAX);
    expect(await setup.redis.hlen('evenhand:{shop}:history')).toBe(HISTORY_MAX);
    expect(await setup.redis.hmget('evenhand:{shop}:history', 'x0', 'x1', 'x2', 'a', 'b')).toEqual([
      null,
      null,
      '0 0 - -',
      '0 0 - -',
      '0 0 - -',
    ]);
  });
});

describe('listing members', () => {
  test('pages in the order of the bytes, each once, by state', async () => {
    const ids = ['B', 'a', 'Z', 'é', 'ab', 'z', '中', 'a b', '10', '9'];
    await givePool(setup.app, 'shop', ids);
    for (const id of ['Z', 'é', '9']) await setup.app.pools.patchMember('shop', id, { state: 'disabled' });
    const inOrder = ids
      .map((id) => Buffer.from(id))
      .sort((a, b) => Buffer.compare(a, b))
      .map(String);
    const walk = async (state?: 'eligible' | 'withdrawn') => {
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await setup.app.pools.listMembers('shop', {
          limit: 3,
          ...(state ? { state } : {}),
          ...(cursor ? { cursor } : {}),
        });
        expect(page.members.length).toBeLessThanOrEqual(3);
        seen.push(...page.members.map(({ id }) => id));
        cursor = page.nextCursor ?? undefined;
      } while (cursor);
      return seen;
    };
    expect(await walk()).toEqual(inOrder);
    expect(await walk('withdrawn')).toEqual(inOrder.filter((id) => ['Z', 'é', '9'].includes(id)));
    expect(await walk('eligible')).toEqual(inOrder.filter((id) => !['Z', 'é', '9'].includes(id)));
  });

  test('shows no value', async () => {
    await setup.app.pools.put('shop');
    await importMembers(setup.app, 'shop', [{ id: 'a', value: 'TOP-SECRET' }]);
    expect(
      JSON.stringify([await setup.app.pools.listMembers('shop'), await setup.app.pools.getMember('shop', 'a')]),
    ).not.toContain('SECRET');
  });

  test('refuses a cursor that is not its own', async () => {
    await givePool(setup.app, 'shop', ['a']);
    await expect(setup.app.pools.listMembers('shop', { cursor: '!!' })).rejects.toMatchObject({
      problems: [{ path: 'cursor' }],
    });
  });
});

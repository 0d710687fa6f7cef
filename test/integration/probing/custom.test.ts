import { afterEach, expect, jest, test } from '@jest/globals';
import { Injectable, Logger } from '@nestjs/common';
import { type MemberProber, MemberProberProvider, type MemberToProbe, type ProbeResult } from '../../../src/index.js';
import { ProxyProber } from '../../../src/eligibility/probe/proxy.prober.js';
import { type Certificate, selfSigned } from '../../support/certificate.js';
import { startHttpProxy } from '../../support/proxies.js';
import { allProbed, giveProbedPool, probedMember } from '../../support/probed.pool.js';
import { useRunning } from '../../support/running.servers.js';
import { type SelectionApp, importMembers, startSelection } from '../../support/selection.app.js';
import { SocksServer } from '../../support/socks.server.js';
import { TargetServer } from '../../support/target.server.js';
import { useSelection } from '../../support/use.selection.js';
import { waitUntil } from '../../support/wait.until.js';

const setup = useSelection();
const running = useRunning();
let host: SelectionApp | undefined;

afterEach(async () => {
  jest.restoreAllMocks();
  await host?.close();
  host = undefined;
});

/** Accounts of a made-up service: the value is the account's key. */
@MemberProberProvider()
@Injectable()
class AccountProber implements MemberProber {
  readonly name: string = 'account';
  readonly seen: MemberToProbe[] = [];

  probe(member: MemberToProbe): Promise<ProbeResult> {
    this.seen.push(member);
    if (member.value === 'key-faulty') throw new Error(`no idea about ${member.value}`);
    const isGood = member.value === 'key-good';
    const failed = { ok: false, reason: 'authentication', detail: 'The account\nis closed.', latencyMs: 3 } as const;
    return Promise.resolve(isGood ? { ok: true, latencyMs: 3, exitAddress: null } : failed);
  }
}

test('members that are no proxies are tried by a prober of the host application', async () => {
  host = await startSelection(setup.server.url, [AccountProber]);
  const members = ['good', 'bad', 'faulty'].map((id) => ({ id, value: `key-${id}`, labels: { plan: id } }));
  await giveProbedPool(host, { prober: 'account', url: 'https://accounts.example/' }, members);
  const state = (id: string) => probedMember(setup.app, setup.redis, id);
  for (const id of ['good', 'bad', 'faulty']) {
    const isTold = async () => (await state(id)).reason === null || (await state(id)).evidence !== '';
    await waitUntil(isTold, { what: `${id} to be probed` });
  }
  expect(await state('good')).toEqual({ reason: null, evidence: '' });
  expect(await state('bad')).toEqual({
    reason: 'unhealthy',
    evidence: 'probe: authentication: The account is closed.',
  });
  expect(await state('faulty')).toEqual({
    reason: 'candidate',
    evidence: 'probe: no verdict: The prober failed.',
  });
  expect(host.context.get(AccountProber).seen).toContainEqual({
    id: 'good',
    value: 'key-good',
    labels: { plan: 'good' },
  });
});

test('a prober that nobody knows is refused, and the known ones are named', async () => {
  const probe = { prober: 'account', url: 'https://accounts.example/' };
  await expect(setup.app.pools.put('shop', { candidates: 'probe', probe })).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
    message: '"probe.prober" must be a known prober: proxy.',
    problems: [{ path: 'probe.prober', message: 'must be a known prober: proxy' }],
  });
  expect((await setup.app.pools.list()).pools).toEqual([]);
});

test('a process that does not have the prober leaves the pool to one that does', async () => {
  @MemberProberProvider()
  @Injectable()
  class LedgerProber extends AccountProber {
    override readonly name = 'ledger';
  }
  host = await startSelection(setup.server.url, [LedgerProber]);
  await host.pools.put('shop', { candidates: 'probe', probe: { prober: 'ledger', url: 'https://accounts.example/' } });
  await host.close();
  await importMembers(setup.app, 'shop', [{ id: 'good', value: 'key-good' }]);
  const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
  await waitUntil(() => warn.mock.calls.length > 0);
  expect(warn.mock.calls).toEqual([['Pool "shop" is probed by "ledger", which this process does not have']]);
  expect((await setup.app.pools.getMember('shop', 'good')).reason).toBe('candidate');
  host = await startSelection(setup.server.url, [LedgerProber]);
  await waitUntil(async () => (await setup.app.pools.getMember('shop', 'good')).reason === null);
});

let certificate: Certificate;

/** The built-in prober, which believes the certificate of these tests. */
@MemberProberProvider()
@Injectable()
class TrustingProber implements MemberProber {
  readonly name = 'trusting';
  private readonly proxies = new ProxyProber({ ca: [certificate.cert] });

  probe(...args: Parameters<ProxyProber['probe']>): Promise<ProbeResult> {
    return this.proxies.probe(...args);
  }
}

test('HTTPS goes through the tunnels of HTTP, HTTPS and SOCKS proxies', async () => {
  certificate = await selfSigned();
  host = await startSelection(setup.server.url, [TrustingProber]);
  const target = await running(TargetServer.start(certificate));
  const user = { user: 'bob', password: 's3cret' };
  const [http, https, socks] = await Promise.all([
    running(startHttpProxy(user)),
    running(startHttpProxy({ certificate })),
    running(SocksServer.start(user)),
  ]);
  const members = [
    { id: 'http', value: `http://bob:s3cret@127.0.0.1:${http.port}` },
    { id: 'https', value: `https://127.0.0.1:${https.port}` },
    { id: 'socks', value: `socks5h://bob:s3cret@127.0.0.1:${socks.port}` },
    { id: 'wrong', value: `http://bob:wr0ng@127.0.0.1:${http.port}` },
  ];
  await giveProbedPool(host, { prober: 'trusting', url: target.url }, members);
  await allProbed(host, setup.redis);
  const state = (id: string) => probedMember(setup.app, setup.redis, id);
  for (const id of ['http', 'https', 'socks']) expect([id, (await state(id)).reason]).toEqual([id, null]);
  expect(await state('wrong')).toEqual({
    reason: 'unhealthy',
    evidence: expect.stringMatching(/^probe: authentication: .*407/),
  });
  expect(target.requests).toHaveLength(3);
});

test('the log says once what came of a batch, and shows no value', async () => {
  const log = jest.spyOn(Logger.prototype, 'log').mockReturnValue();
  const debug = jest.spyOn(Logger.prototype, 'debug').mockReturnValue();
  const target = await running(TargetServer.start());
  const proxy = await running(startHttpProxy());
  const locked = await running(startHttpProxy({ user: 'bob', password: 'p' }));
  const members = Array.from({ length: 20 }, (_, n) => ({
    id: `m${n}`,
    value: `http://bob:s3cret@127.0.0.1:${n < 15 ? proxy.port : locked.port}`,
  }));
  await giveProbedPool(setup.app, { url: target.url, concurrency: 3 }, members);
  await waitUntil(() => log.mock.calls.length > 0);
  expect(log.mock.calls).toEqual([
    [
      expect.stringMatching(
        /^Pool "shop": probed 20 members in \d+\.\d s: 15 eligible, 5 unhealthy, 0 without a verdict$/,
      ),
    ],
  ]);
  expect(debug.mock.calls).toHaveLength(20);
  expect(JSON.stringify([log.mock.calls, debug.mock.calls])).not.toMatch(/s3cret/);
});

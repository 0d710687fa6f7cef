import { describe, expect, test } from '@jest/globals';
import { getEventListeners } from 'node:events';
import type { ProbeResult } from '../../../src/eligibility/probe/member.prober.js';
import type { LoopbackServer } from '../../support/loopback.server.js';
import { startDrippingProxy, startHangingProxy, startTunnelEnd } from '../../support/proxies.js';
import { PROXYS_ADDRESS, at, passed, useProxyProbing } from '../../support/proxy.probing.js';
import { waitUntil } from '../../support/wait.until.js';

const { running, target, httpProxy, proberOfTests, probe } = useProxyProbing();

describe('a probe that is called off', () => {
  test.each<[string, () => Promise<LoopbackServer>]>([
    ['http', () => startHangingProxy()],
    ['https', () => startHangingProxy()],
    ['socks4', () => startHangingProxy()],
    ['socks5', () => startHangingProxy()],
    ['http', () => startTunnelEnd((tunnel) => tunnel.resume())],
    ['http', () => startDrippingProxy()],
  ])('ends at once, and leaves no connection: %s', async (scheme, start) => {
    const proxy = await running(start());
    const caller = new AbortController();
    const probing = probe(at(scheme, proxy), { url: 'https://192.0.2.1/' }, { signal: caller.signal });
    await waitUntil(() => proxy.openNow === 1);
    caller.abort();
    expect(await probing).toEqual({ ok: false, reason: 'aborted', detail: expect.any(String), latencyMs: null });
    await proxy.deserted();
  });

  test('before it begins makes no connection', async () => {
    const proxy = await running(startHangingProxy());
    const result = await probe(at('http', proxy), { url: 'http://192.0.2.1/' }, { signal: AbortSignal.abort() });
    expect(result).toMatchObject({ ok: false, reason: 'aborted' });
    // A later connection would come after one that is counted.
    await probe(at('http', proxy), { url: 'http://192.0.2.1/', timeoutMs: 100 });
    expect(proxy.connections).toBe(1);
  });
});

test('1,000 probes through one proxy all pass, and leave nothing behind', async () => {
  const sockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
  const [to, proxy, prober] = [await target(), await httpProxy({ localAddress: PROXYS_ADDRESS }), proberOfTests()];
  const results: ProbeResult[] = [];
  const settings = { url: to.url, bodyPattern: '^127', exitAddress: 'differs' as const };
  const { signal } = new AbortController();
  const worker = async () => {
    for (let n = 0; n < 20; n++) results.push(await probe(at('http', proxy), settings, { signal }, prober));
  };
  await Promise.all(Array.from({ length: 50 }, worker));
  expect(results).toEqual(Array.from({ length: 1_000 }, () => passed(PROXYS_ADDRESS)));
  expect([to.requests.length, proxy.connections]).toEqual([1_000, 1_000]);
  await proxy.deserted();
  await to.connections.deserted();
  await waitUntil(() => sockets() === 0, { what: 'every socket of this process to be closed' });
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

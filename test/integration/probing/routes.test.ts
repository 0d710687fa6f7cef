import { describe, expect, test } from '@jest/globals';
import type { TLSSocket } from 'node:tls';
import { startParrotProxy } from '../../support/proxies.js';
import { PROXYS_ADDRESS, at, passed, useProxyProbing } from '../../support/proxy.probing.js';

const { running, certificates, target, secureTarget, httpProxy, socksProxy, proberOfTests, probe } = useProxyProbing();

describe('a proxy that works passes', () => {
  test.each([
    ['http', 'http'],
    ['http', 'https'],
    ['https', 'http'],
    ['https', 'https'],
  ])('an %s proxy for an %s URL', async (scheme, urlScheme) => {
    const to = urlScheme === 'http' ? await target() : await secureTarget();
    const proxy = await httpProxy({
      localAddress: PROXYS_ADDRESS,
      user: 'bob',
      password: 'p@ss:wörd',
      ...(scheme === 'https' && { certificate: certificates.trusted }),
    });
    const credentials = 'bob:p%40ss%3Aw%C3%B6rd@';
    const result = await probe(at(scheme, proxy, credentials), { url: to.url, exitAddress: 'differs' });
    expect(result).toEqual(passed(PROXYS_ADDRESS));
    expect(to.requests.map(({ method, url }) => `${method} ${url}`)).toEqual(['GET /ip?from=probe']);
    expect(to.requests[0]?.headers.host).toBe(`127.0.0.1:${to.port}`);
    expect(to.requests[0]?.headers).not.toHaveProperty('proxy-authorization');
  });

  test.each([
    ['socks4', 'localhost', '127.0.0.1'],
    ['socks4a', 'localhost', 'localhost'],
    ['socks5', 'localhost', '127.0.0.1'],
    ['socks5h', 'localhost', 'localhost'],
    ['socks4', '127.0.0.1', '127.0.0.1'],
    ['socks4a', '127.0.0.1', '127.0.0.1'],
    ['socks5', '127.0.0.1', '127.0.0.1'],
    ['socks5h', '127.0.0.1', '127.0.0.1'],
  ])('an %s proxy, which for %s is told %s', async (scheme, host, told) => {
    const version = scheme.startsWith('socks4') ? 4 : 5;
    const proxy = await socksProxy({
      user: 'bob',
      localAddress: PROXYS_ADDRESS,
      ...(version === 5 && { password: 'p' }),
    });
    for (const to of [await target(), await secureTarget()]) {
      const value = at(scheme, proxy, 'bob:p@');
      expect(await probe(value, { url: to.at(host), exitAddress: 'differs' })).toEqual(passed(PROXYS_ADDRESS));
      expect(proxy.asked.at(-1)).toMatchObject({ version, host: told, port: to.port });
      expect(to.requests).toHaveLength(1);
      // Over TLS a target is told its name, and an address is no name.
      const { servername } = to.requests[0]?.socket as TLSSocket;
      if (to.url.startsWith('https')) expect(servername).toBe(host === 'localhost' && host);
    }
  });

  test('a SOCKS5 proxy without credentials, and an IPv6 target by its address', async () => {
    const proxy = await socksProxy({ reply: 1 });
    const result = await probe(at('socks5', proxy), { url: 'http://[2001:db8::7]:8080/' });
    expect(result).toMatchObject({ ok: false, reason: 'tunnel' });
    expect(proxy.asked).toEqual([{ version: 5, host: '2001:0db8:0000:0000:0000:0000:0000:0007', port: 8080 }]);
  });

  test('an address without a scheme is an HTTP proxy', async () => {
    const [to, proxy] = [await target(), await httpProxy()];
    expect(await probe(`127.0.0.1:${proxy.port}`, { url: to.url })).toEqual(passed());
  });

  test('a name in the URL is resolved by an HTTP proxy', async () => {
    const proxy = await running(startParrotProxy('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'));
    expect(await probe(at('http', proxy), { url: 'http://nowhere.invalid/' })).toEqual(passed());
  });

  test('it is asked anew each time, past caches and on a connection of its own', async () => {
    const [to, proxy, prober] = [await target(), await httpProxy(), proberOfTests()];
    for (let times = 1; times <= 3; times++) {
      expect(await probe(at('http', proxy), { url: to.url }, {}, prober)).toEqual(passed());
      await proxy.deserted();
      expect(proxy.connections).toBe(times);
    }
    expect(to.requests[0]?.headers['cache-control']).toBe('no-cache');
  });
});

describe('certificates are checked', () => {
  test("a target's that nobody vouches for: tls", async () => {
    const [to, proxy] = [await secureTarget(certificates.strangers), await httpProxy()];
    const result = await probe(at('http', proxy), { url: to.url });
    expect(result).toMatchObject({
      ok: false,
      reason: 'tls',
      detail: 'TLS to the target failed (DEPTH_ZERO_SELF_SIGNED_CERT).',
    });
    expect(to.requests).toEqual([]);
  });

  test("an HTTPS proxy's that nobody vouches for: tls", async () => {
    const [to, proxy] = [await target(), await httpProxy({ certificate: certificates.strangers })];
    const result = await probe(at('https', proxy, 'bob:s3cret@'), { url: to.url });
    expect(result).toMatchObject({
      ok: false,
      reason: 'tls',
      detail: 'TLS to the proxy failed (DEPTH_ZERO_SELF_SIGNED_CERT).',
    });
  });

  test('one for another name: tls', async () => {
    const detail = expect.stringContaining('ERR_TLS_CERT_ALTNAME_INVALID');
    const to = await secureTarget(certificates.misnamed);
    const viaSocks = await probe(at('socks5', await socksProxy()), { url: to.url });
    expect(viaSocks).toMatchObject({ ok: false, reason: 'tls', detail });
    const viaHttps = await probe(at('https', await httpProxy({ certificate: certificates.misnamed })), { url: to.url });
    expect(viaHttps).toMatchObject({ ok: false, reason: 'tls', detail });
    expect(to.requests).toEqual([]);
  });
});

import { describe, expect, test } from '@jest/globals';
import type { LoopbackServer } from '../../support/loopback.server.js';
import {
  closedPort,
  startHangingProxy,
  startHangingUpProxy,
  startParrotProxy,
  startTunnelEnd,
} from '../../support/proxies.js';
import { NO_NAME, at, useProxyProbing } from '../../support/proxy.probing.js';
import { SocksServer, type SocksOptions } from '../../support/socks.server.js';

const { running, target, secureTarget, httpProxy, socksProxy, probe } = useProxyProbing();

describe('a proxy that does not work fails, and the reason says how', () => {
  const answers = (status: string) => () =>
    running(startParrotProxy(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\n\r\n`));
  const socks = (options: SocksOptions) => () => socksProxy(options);
  type Start = () => Promise<{ port: number }>;
  const http = '127.0.0.1';

  test.each<[name: string, reason: string, detail: RegExp, scheme: string, start: Start, credentials?: string]>([
    ['nobody listens', 'refused', /ECONNREFUSED/, 'http', async () => ({ port: await closedPort() })],
    ['nobody listens', 'refused', /ECONNREFUSED/, 'socks5', async () => ({ port: await closedPort() })],
    ['it never answers', 'timeout', /within 300 ms/, 'http', () => running(startHangingProxy())],
    ['it never answers', 'timeout', /within 300 ms/, 'https', () => running(startHangingProxy())],
    ['it never answers', 'timeout', /within 300 ms/, 'socks4', () => running(startHangingProxy())],
    ['it never answers', 'timeout', /within 300 ms/, 'socks5', () => running(startHangingProxy())],
    ['it hangs up', 'closed', /ECONNRESET/, 'http', () => running(startHangingUpProxy())],
    ['it hangs up', 'closed', /ECONNRESET/, 'https', () => running(startHangingUpProxy())],
    ['it hangs up', 'closed', /closed the connection/, 'socks4', () => running(startHangingUpProxy())],
    ['it hangs up', 'closed', /closed the connection/, 'socks5', () => running(startHangingUpProxy())],
    ['it answers rubbish', 'protocol', /HPE_/, 'http', () => running(startParrotProxy('s3cret rubbish'))],
    ['it answers rubbish', 'tls', /TLS to the proxy/, 'https', () => running(startParrotProxy('s3cret rubbish'))],
    ['it answers rubbish', 'protocol', /SOCKS/, 'socks4', () => running(startParrotProxy('s3cret rubbish'))],
    ['it answers rubbish', 'protocol', /SOCKS/, 'socks5', () => running(startParrotProxy('s3cret rubbish'))],
    [
      'it answers endless headers',
      'protocol',
      /HPE_HEADER/,
      'http',
      () => running(startParrotProxy(`HTTP/1.1 200 OK\r\n${'x: s3cret\r\n'.repeat(10_000)}`)),
    ],
    ['it wants a password', 'authentication', /407/, 'http', () => httpProxy({ user: 'bob', password: 'p' })],
    [
      'the password is wrong',
      'authentication',
      /407/,
      'http',
      () => httpProxy({ user: 'bob', password: 'p' }),
      'bob:s3cret@',
    ],
    ['it wants a password', 'authentication', /credentials/, 'socks5', socks({ user: 'bob', password: 'p' })],
    [
      'the password is wrong',
      'authentication',
      /credentials/,
      'socks5',
      socks({ user: 'bob', password: 'p' }),
      'bob:s3cret@',
    ],
    ['the user is wrong', 'authentication', /user/, 'socks4', socks({ user: 'bob' }), 's3cret@'],
    ['it refuses the target', 'tunnel', /403/, 'http', answers('403 s3cret')],
    ['it does not reach the target', 'tunnel', /502/, 'http', answers('502 s3cret')],
    ['it refuses the target', 'tunnel', /NotAllowed/, 'socks5', socks({ reply: 2 })],
    ['it does not reach the target', 'tunnel', /HostUnreachable/, 'socks5h', socks({ reply: 4 })],
    ['it does not reach the target', 'tunnel', /Failed/, 'socks4a', socks({ reply: 91 })],
    ['its reply is unknown', 'protocol', /SOCKS/, 'socks5', socks({ reply: 99 })],
    ['its reply is unknown', 'protocol', /SOCKS/, 'socks4', socks({ reply: 7 })],
    ['its tunnel dies', 'closed', /TLS to the target/, 'http', () => running(startTunnelEnd((tunnel) => tunnel.end()))],
    [
      'its tunnel dies later',
      'closed',
      /TLS to the target/,
      'http',
      () => running(startTunnelEnd((tunnel) => tunnel.once('data', () => tunnel.destroy()))),
    ],
    [
      'its tunnel leads nowhere',
      'timeout',
      /within 300 ms/,
      'http',
      () => running(startTunnelEnd((tunnel) => tunnel.resume())),
    ],
    [
      'its tunnel leads to rubbish',
      'tls',
      /TLS to the target/,
      'http',
      () => running(startTunnelEnd((tunnel) => tunnel.once('data', () => tunnel.write('s3cret rubbish')))),
    ],
    [
      'its tunnel speaks first',
      'protocol',
      /before the target was asked/,
      'http',
      () => running(startParrotProxy('HTTP/1.1 200 OK\r\n\r\ns3cret')),
    ],
  ])('%s: %s', async (_name, reason, detail, scheme, start, credentials = '') => {
    const to = await secureTarget();
    const proxy = await start();
    const timeoutMs = reason === 'timeout' ? 300 : 10_000;
    const result = await probe(at(scheme, proxy, credentials), { url: to.at(http), timeoutMs });
    expect(result).toEqual({ ok: false, reason, detail: expect.stringMatching(detail), latencyMs: null });
    expect(JSON.stringify(result)).not.toContain('s3cret');
    if ('deserted' in proxy) await (proxy as LoopbackServer).deserted();
    if (proxy instanceof SocksServer) await proxy.server.deserted();
    await to.connections.deserted();
  });

  test.each(['socks4', 'socks5'])('a target whose name is unknown here, by %s: unresolved', async (scheme) => {
    const proxy = await socksProxy();
    const result = await probe(at(scheme, proxy), { url: `http://${NO_NAME}/` });
    expect(result).toMatchObject({ ok: false, reason: 'unresolved' });
    expect(proxy.server.connections).toBe(0);
  });

  test('an HTTP proxy that wants a password for what it forwards: authentication', async () => {
    const [to, proxy] = [await target(), await httpProxy({ user: 'bob', password: 'p' })];
    const result = await probe(at('http', proxy, 'bob:s3cret@'), { url: to.url, status: [200, 407] });
    expect(result).toMatchObject({ ok: false, reason: 'authentication', detail: expect.stringContaining('407') });
    expect(to.requests).toEqual([]);
  });

  test.each([
    ['a value that is no proxy', 's3cret-key', 'http://192.0.2.1/'],
    ['an IPv6 target by SOCKS4', 'socks4://192.0.2.1:1080', 'http://[2001:db8::1]/'],
    ['an IPv6 target by SOCKS4a', 'socks4a://192.0.2.1:1080', 'http://[2001:db8::1]/'],
  ])('%s: unsupported, without a connection', async (_name, value, url) => {
    const result = await probe(value, { url });
    expect(result).toMatchObject({ ok: false, reason: 'unsupported', latencyMs: null });
    expect(JSON.stringify(result)).not.toContain('s3cret');
  });

  test('a password that SOCKS5 cannot carry: unsupported', async () => {
    const [to, proxy] = [await target(), await socksProxy({ user: 'bob' })];
    const result = await probe(at('socks5', proxy, `bob:${'p'.repeat(256)}@`), { url: to.url });
    expect(result).toMatchObject({ ok: false, reason: 'unsupported' });
  });
});

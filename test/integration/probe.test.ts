import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { getEventListeners } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { ProbeResult } from '../../src/eligibility/probe/member.prober.js';
import { probeSchema, type ProbeSettingsInput } from '../../src/eligibility/probe/probe.settings.js';
import { ProxyProber } from '../../src/eligibility/probe/proxy.prober.js';
import { selfSigned, type Certificate } from '../support/certificate.js';
import type { LoopbackServer } from '../support/loopback.server.js';
import {
  closedPort,
  startDrippingProxy,
  startHangingProxy,
  startHangingUpProxy,
  startHttpProxy,
  startParrotProxy,
  startSlowProxy,
  startTunnelEnd,
} from '../support/proxies.js';
import { SocksServer, type SocksOptions } from '../support/socks.server.js';
import { TargetServer } from '../support/target.server.js';
import { waitUntil } from '../support/wait.until.js';

/** A second address of loopback, for proxies that are to be told from the service. */
const PROXYS_ADDRESS = '127.0.0.2';
const OWN_ADDRESS = '127.0.0.1';
/** No resolver takes a label of more than 63 characters, so that none is asked. */
const NO_NAME = `${'n'.repeat(64)}.example`;
const never = new AbortController().signal;

const started: { stop(): Promise<void> }[] = [];
const probers: ProxyProber[] = [];
let certificate: Certificate;
/** Nobody believes this one. */
let strangers: Certificate;
/** This one is believed, and for another name. */
let misnamed: Certificate;

beforeAll(async () => {
  [certificate, strangers, misnamed] = await Promise.all([selfSigned(), selfSigned(), selfSigned('proxy.example')]);
});

afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.stop()));
  await Promise.all(probers.splice(0).map((prober) => prober.close()));
});

/** Stops it when the test has ended. */
async function running<T extends { stop(): Promise<void> }>(starting: Promise<T>): Promise<T> {
  const server = await starting;
  started.push(server);
  return server;
}

const target = () => running(TargetServer.start());
const secureTarget = (of = certificate) => running(TargetServer.start(of));
const httpProxy = (options = {}) => running(startHttpProxy(options));
const socksProxy = (options: SocksOptions = {}) => running(SocksServer.start(options));

/** A prober that believes the certificates of the tests, the stranger's aside. */
function proberOfTests(): ProxyProber {
  const prober = new ProxyProber({ ca: [certificate.cert, misnamed.cert] });
  probers.push(prober);
  return prober;
}

interface Context {
  signal?: AbortSignal;
  ownAddress?: string | null;
}

async function probe(value: string, settings: ProbeSettingsInput, context: Context = {}, prober = proberOfTests()) {
  const member = { id: 'member', value, labels: {} };
  return prober.probe(member, probeSchema.parse(settings), { signal: never, ownAddress: OWN_ADDRESS, ...context });
}

const passed = (exitAddress: string | null = null): ProbeResult => ({
  ok: true,
  latencyMs: expect.any(Number) as unknown as number,
  exitAddress,
});

const at = (scheme: string, { port }: { port: number }, credentials = '') =>
  `${scheme}://${credentials}127.0.0.1:${port}`;

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
      ...(scheme === 'https' && { certificate }),
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

describe('certificates are checked', () => {
  test("a target's that nobody vouches for: tls", async () => {
    const [to, proxy] = [await secureTarget(strangers), await httpProxy()];
    const result = await probe(at('http', proxy), { url: to.url });
    expect(result).toMatchObject({
      ok: false,
      reason: 'tls',
      detail: 'TLS to the target failed (DEPTH_ZERO_SELF_SIGNED_CERT).',
    });
    expect(to.requests).toEqual([]);
  });

  test("an HTTPS proxy's that nobody vouches for: tls", async () => {
    const [to, proxy] = [await target(), await httpProxy({ certificate: strangers })];
    const result = await probe(at('https', proxy, 'bob:s3cret@'), { url: to.url });
    expect(result).toMatchObject({
      ok: false,
      reason: 'tls',
      detail: 'TLS to the proxy failed (DEPTH_ZERO_SELF_SIGNED_CERT).',
    });
  });

  test('one for another name: tls', async () => {
    const detail = expect.stringContaining('ERR_TLS_CERT_ALTNAME_INVALID');
    const to = await secureTarget(misnamed);
    const viaSocks = await probe(at('socks5', await socksProxy()), { url: to.url });
    expect(viaSocks).toMatchObject({ ok: false, reason: 'tls', detail });
    const viaHttps = await probe(at('https', await httpProxy({ certificate: misnamed })), { url: to.url });
    expect(viaHttps).toMatchObject({ ok: false, reason: 'tls', detail });
    expect(to.requests).toEqual([]);
  });
});

describe('an answer is judged', () => {
  /** Probes a target that answers so. */
  async function judged(settings: Partial<ProbeSettingsInput>, respond: RequestListener, context: Context = {}) {
    const [to, proxy] = [await target(), await socksProxy()];
    to.respond = respond;
    const result = await probe(at('socks5', proxy), { url: to.url, ...settings }, context);
    await proxy.server.deserted();
    await to.connections.deserted();
    return { result, requests: to.requests.length };
  }
  const body = (text: string | Buffer) => (_request: unknown, response: ServerResponse) => response.end(text);

  test.each([301, 407, 503])('status %i is not accepted unless the settings say so', async (status) => {
    const respond: RequestListener = (_request, response) =>
      response.writeHead(status, { location: '/' }).end('s3cret');
    const refused = await judged({}, respond);
    expect(refused.result).toEqual({
      ok: false,
      reason: 'status',
      detail: `The answer has status ${status}.`,
      latencyMs: expect.any(Number),
    });
    expect(refused.requests).toBe(1);
    expect((await judged({ status: [200, status] }, respond)).result).toEqual(passed());
  });

  test('a change of protocol that nobody asked for is not accepted', async () => {
    const answer = 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: s3cret\r\n\r\n';
    const proxy = await running(startParrotProxy(answer));
    const result = await probe(at('http', proxy), { url: 'http://192.0.2.1/' });
    expect(result).toMatchObject({ ok: false, reason: 'status', detail: 'The answer has status 101.' });
    await proxy.deserted();
  });

  test('latency counts to the last byte', async () => {
    const proxy = await running(startSlowProxy(50));
    const url = 'http://192.0.2.1/';
    const slow = await probe(at('http', proxy), { url, maxLatencyMs: 20 });
    expect(slow).toMatchObject({ ok: false, reason: 'latency' });
    expect(slow.latencyMs).toBeGreaterThanOrEqual(50);
    expect(await probe(at('http', proxy), { url, maxLatencyMs: 60_000 })).toEqual(passed());
  });

  test('a body that drips for ever is a timeout', async () => {
    const proxy = await running(startDrippingProxy());
    const result = await probe(at('http', proxy), { url: 'http://192.0.2.1/', timeoutMs: 300 });
    expect(result).toMatchObject({ ok: false, reason: 'timeout', latencyMs: null });
    await proxy.deserted();
  });

  test('a body that is cut short: closed', async () => {
    const { result } = await judged({}, (_request, response) => {
      response.writeHead(200, { 'content-length': '1000' }).write('half', () => response.destroy());
    });
    expect(result).toMatchObject({ ok: false, reason: 'closed', latencyMs: null });
  });

  test('of an endless body 64 KiB are read', async () => {
    const endless: RequestListener = (_request, response) => {
      const pour = () => {
        if (response.write('x'.repeat(16_384))) setImmediate(pour);
      };
      response.on('drain', pour);
      pour();
    };
    expect((await judged({}, endless)).result).toEqual(passed());
  });

  test('the pattern sees the first 64 KiB', async () => {
    const settings = { bodyPattern: '^x+\\p{Lu}' };
    expect((await judged(settings, body(`${'x'.repeat(65_534)}Ä`))).result).toEqual(passed());
    const beyond = await judged(settings, body(`${'x'.repeat(65_536)}Ä s3cret`));
    expect(beyond.result).toMatchObject({ ok: false, reason: 'body', detail: 'The body does not match the pattern.' });
    expect(beyond.result.latencyMs).toEqual(expect.any(Number));
  });

  test('a pattern that backtracks for ever fails by itself', async () => {
    const { result } = await judged({ bodyPattern: '^(a+)+$' }, body(`${'a'.repeat(60)}!`));
    expect(result).toEqual({
      ok: false,
      reason: 'pattern',
      detail: 'The pattern took longer than 200 ms.',
      latencyMs: expect.any(Number),
    });
  });

  test("the service's own address is no exit address, and what is not known does not pass", async () => {
    const differs = { exitAddress: 'differs' as const };
    const own = await judged(differs, body(`You come from ::ffff:${OWN_ADDRESS}.`));
    expect(own.result).toMatchObject({ ok: false, reason: 'exit-address' });
    expect(JSON.stringify(own.result)).not.toContain(OWN_ADDRESS);
    expect((await judged(differs, body('192.0.2.9'))).result).toEqual(passed('192.0.2.9'));
    expect((await judged(differs, body('s3cret'))).result).toMatchObject({ reason: 'exit-address' });
    const unknown = await judged(differs, body('192.0.2.9'), { ownAddress: null });
    expect(unknown.result).toMatchObject({ ok: false, reason: 'exit-address' });
  });

  test('the field of a JSON body names the exit address', async () => {
    const settings = { exitAddress: 'differs' as const, exitAddressField: 'ip' };
    const json = JSON.stringify({ server: OWN_ADDRESS, ip: '2001:DB8::9' });
    expect((await judged(settings, body(json))).result).toEqual(passed('2001:db8::9'));
    expect((await judged(settings, body(`{"server":"192.0.2.1"}`))).result).toMatchObject({ reason: 'exit-address' });
  });
});

describe("the service's own address", () => {
  test('is what the URL says without a proxy', async () => {
    const settings = probeSchema.parse({ url: (await secureTarget()).url, exitAddress: 'differs' });
    expect(await proberOfTests().findOwnAddress(settings, never)).toEqual({ ok: true, address: OWN_ADDRESS });
  });

  test.each<[string, RequestListener]>([
    ['status', (_request, response) => response.writeHead(503).end(OWN_ADDRESS)],
    ['exit-address', (_request, response) => response.end('none')],
    ['closed', (_request, response) => response.destroy()],
  ])('is not known where the answer is no good: %s', async (reason, respond) => {
    const to = await target();
    to.respond = respond;
    const settings = probeSchema.parse({ url: to.url, exitAddress: 'differs' });
    expect(await proberOfTests().findOwnAddress(settings, never)).toMatchObject({ ok: false, reason });
    await to.connections.deserted();
  });
});

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

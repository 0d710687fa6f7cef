import { describe, expect, test } from '@jest/globals';
import type { RequestListener, ServerResponse } from 'node:http';
import { type ProbeSettingsInput, probeSchema } from '../../../src/eligibility/probe/probe.settings.js';
import { startDrippingProxy, startParrotProxy, startSlowProxy } from '../../support/proxies.js';
import { OWN_ADDRESS, at, never, passed, useProxyProbing } from '../../support/proxy.probing.js';

const { running, target, secureTarget, socksProxy, proberOfTests, probe } = useProxyProbing();

describe('an answer is judged', () => {
  /** Probes a target that answers so. */
  async function judged(
    settings: Partial<ProbeSettingsInput>,
    respond: RequestListener,
    context: { ownAddress?: null } = {},
  ) {
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

import { afterEach, beforeAll, expect } from '@jest/globals';
import type { ProbeResult } from '../../src/eligibility/probe/member.prober.js';
import { probeSchema, type ProbeSettingsInput } from '../../src/eligibility/probe/probe.settings.js';
import { ProxyProber } from '../../src/eligibility/probe/proxy.prober.js';
import { selfSigned, type Certificate } from './certificate.js';
import { type HttpProxyOptions, startHttpProxy } from './proxies.js';
import { useRunning } from './running.servers.js';
import { SocksServer, type SocksOptions } from './socks.server.js';
import { TargetServer } from './target.server.js';

/** A second address of loopback, for proxies that are to be told from the service. */
export const PROXYS_ADDRESS = '127.0.0.2';
export const OWN_ADDRESS = '127.0.0.1';
/** No resolver takes a label of more than 63 characters, so that none is asked. */
export const NO_NAME = `${'n'.repeat(64)}.example`;
/** The signal of what is not called off. */
export const never = new AbortController().signal;

export interface TestCertificates {
  trusted: Certificate;
  /** Nobody believes this one. */
  strangers: Certificate;
  /** This one is believed, and for another name. */
  misnamed: Certificate;
}

interface Context {
  signal?: AbortSignal;
  ownAddress?: string | null;
}

/** What tests of single probes have in common: targets, proxies and probers, which are gone when a test has ended. */
export function useProxyProbing() {
  const running = useRunning();
  const certificates = {} as TestCertificates;
  const probers: ProxyProber[] = [];
  beforeAll(async () => {
    const [trusted, strangers, misnamed] = await Promise.all([selfSigned(), selfSigned(), selfSigned('proxy.example')]);
    Object.assign(certificates, { trusted, strangers, misnamed });
  });
  afterEach(async () => {
    await Promise.all(probers.splice(0).map((prober) => prober.close()));
  });

  /** A prober that believes the certificates of the tests, the stranger's aside. */
  const proberOfTests = () => {
    const prober = new ProxyProber({ ca: [certificates.trusted.cert, certificates.misnamed.cert] });
    probers.push(prober);
    return prober;
  };
  const probe = (value: string, settings: ProbeSettingsInput, context: Context = {}, prober = proberOfTests()) => {
    const member = { id: 'member', value, labels: {} };
    return prober.probe(member, probeSchema.parse(settings), { signal: never, ownAddress: OWN_ADDRESS, ...context });
  };
  return {
    running,
    certificates,
    proberOfTests,
    probe,
    target: () => running(TargetServer.start()),
    secureTarget: (of = certificates.trusted) => running(TargetServer.start(of)),
    httpProxy: (options: HttpProxyOptions = {}) => running(startHttpProxy(options)),
    socksProxy: (options: SocksOptions = {}) => running(SocksServer.start(options)),
  };
}

/** The result of a probe that passed. */
export function passed(exitAddress: string | null = null): ProbeResult {
  return { ok: true, latencyMs: expect.any(Number) as unknown as number, exitAddress };
}

/** The address of a proxy on loopback. */
export function at(scheme: string, { port }: { port: number }, credentials = ''): string {
  return `${scheme}://${credentials}127.0.0.1:${port}`;
}

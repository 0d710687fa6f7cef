import type { SecureContext } from 'node:tls';
import { parseAddress } from '../../pool/lists/address.parser.js';
import { judgeAnswer } from './answer.judge.js';
import { BodyMatcher } from './body.matcher.js';
import { exitAddressIn } from './exit.address.js';
import type { FailedProbe, MemberProber, MemberToProbe, ProbeContext, ProbeResult } from './member.prober.js';
import { askOnce } from './probe.answer.js';
import { ProbeError } from './probe.error.js';
import type { ProbeSettings } from './probe.settings.js';
import { trustOf } from './probe.sockets.js';
import { withinTime } from './time.limit.js';

export interface ProxyProberOptions {
  /** Certificates in PEM that are believed besides those of Node. */
  ca?: readonly string[];
}

/** What the URL of the settings says of a request that is sent without a proxy. */
export type OwnAddress = { ok: true; address: string } | FailedProbe;

/** Probes members whose value is the address of an HTTP, HTTPS or SOCKS proxy. */
export class ProxyProber implements MemberProber {
  readonly name = 'proxy';
  private readonly trust: SecureContext;
  private readonly matcher = new BodyMatcher();

  constructor({ ca = [] }: ProxyProberOptions = {}) {
    this.trust = trustOf(ca);
  }

  async probe({ value }: MemberToProbe, settings: ProbeSettings, context: ProbeContext): Promise<ProbeResult> {
    return orFailure(async () => {
      const parsed = parseAddress(value, 'http');
      if ('reason' in parsed) throw new ProbeError('unsupported', 'The value is not the address of a proxy.');
      const { timeoutMs } = settings;
      const answer = await withinTime(timeoutMs, context.signal, (signal) =>
        askOnce(settings, parsed.address, { trust: this.trust, timeoutMs, signal }),
      );
      return judgeAnswer(answer, settings, context, this.matcher);
    });
  }

  /** Asks the URL without a proxy which address that comes from; for the caller to keep, as `ownAddress` of probes. */
  async findOwnAddress(settings: ProbeSettings, signal: AbortSignal): Promise<OwnAddress> {
    return orFailure(async () => {
      const { timeoutMs } = settings;
      const { status, body } = await withinTime(timeoutMs, signal, (over) =>
        askOnce(settings, null, { trust: this.trust, timeoutMs, signal: over }),
      );
      if (!settings.status.includes(status)) throw new ProbeError('status', `The answer has status ${status}.`);
      const address = exitAddressIn(body, settings.exitAddressField);
      if (address === null) throw new ProbeError('exit-address', 'The body names no address.');
      return { ok: true, address };
    });
  }

  /** Ends the thread that matches bodies. */
  async close(): Promise<void> {
    await this.matcher.close();
  }
}

async function orFailure<T>(work: () => Promise<T>): Promise<T | FailedProbe> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ProbeError)) throw error;
    return { ok: false, reason: error.reason, detail: error.message, latencyMs: null };
  }
}

import { Injectable } from '@nestjs/common';
import type { ProbeSettings } from './probe.settings.js';
import { type OwnAddress, ProxyProber } from './proxy.prober.js';

/** How long an address is believed. */
const KEEP_MS = 600_000;
/** How long after a failure the URL is not asked again. */
const RETRY_MS = 10_000;
const MAX_REMEMBERED = 1_000;

interface Remembered {
  address: Promise<OwnAddress>;
  hasFailed: boolean;
  /** By this process's monotonic clock, in ms. */
  untilMs: number;
}

/** The service's own addresses, as the URLs of probes see them: asked for once, and remembered. */
@Injectable()
export class OwnAddresses {
  private readonly remembered = new Map<string, Remembered>();

  constructor(private readonly prober: ProxyProber) {}

  /** What the URL of the settings says; many who ask at once wait for one answer. */
  find(settings: ProbeSettings, signal: AbortSignal): Promise<OwnAddress> {
    const name = nameOf(settings);
    const known = this.remembered.get(name);
    if (known && performance.now() < known.untilMs) return known.address;
    const asked: Remembered = { address: this.ask(settings, signal), hasFailed: false, untilMs: Infinity };
    void asked.address.then(({ ok }) => {
      asked.hasFailed = !ok;
      asked.untilMs = performance.now() + (ok ? KEEP_MS : RETRY_MS);
    });
    this.remember(name, asked);
    return asked.address;
  }

  /** For how long there is no use in probing, as the own address could not be found; in ms, 0 for not at all. */
  outageMs(settings: ProbeSettings): number {
    const known = settings.exitAddress === undefined ? undefined : this.remembered.get(nameOf(settings));
    return known?.hasFailed ? Math.max(0, known.untilMs - performance.now()) : 0;
  }

  private ask(settings: ProbeSettings, signal: AbortSignal): Promise<OwnAddress> {
    return this.prober
      .findOwnAddress(settings, signal)
      .catch(() => ({ ok: false, reason: 'local', detail: 'It could not be asked for.', latencyMs: null }));
  }

  private remember(name: string, asked: Remembered): void {
    this.remembered.delete(name);
    this.remembered.set(name, asked);
    const [oldest] = this.remembered.keys();
    if (this.remembered.size > MAX_REMEMBERED) this.remembered.delete(oldest as string);
  }
}

/** What the answer depends on. */
function nameOf({ url, exitAddressField, status, timeoutMs }: ProbeSettings): string {
  return JSON.stringify([url, exitAddressField, status, timeoutMs]);
}

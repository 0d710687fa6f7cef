import type { Labels } from '../../pool/member.js';
import type { ProbeSettings } from './probe.settings.js';

/** Why a probe failed, in words that stay: programs may switch over them. */
export const PROBE_FAILURES = [
  'unsupported',
  'unresolved',
  'local',
  'refused',
  'unreachable',
  'timeout',
  'closed',
  'authentication',
  'tunnel',
  'tls',
  'protocol',
  'status',
  'latency',
  'body',
  'pattern',
  'exit-address',
  'aborted',
] as const;
export type ProbeFailure = (typeof PROBE_FAILURES)[number];

export interface FailedProbe {
  ok: false;
  reason: ProbeFailure;
  /** One sentence for people; shows no secret, and nothing that the far end sent but a status or reply code. */
  detail: string;
  /** How long the answer took, in ms; null where there was none. */
  latencyMs: number | null;
}

export type ProbeResult =
  | {
      ok: true;
      /** From before the proxy's name is resolved to the last byte of the body that was read, in ms. */
      latencyMs: number;
      /** Where the request came from, as the answer says; null unless the settings ask for it. */
      exitAddress: string | null;
    }
  | FailedProbe;

export interface MemberToProbe {
  id: string;
  /** May be secret. */
  value: string;
  labels: Labels;
}

export interface ProbeContext {
  /** Ends the probe early, which then fails as `aborted`. */
  signal: AbortSignal;
  /** The service's own address, from `findOwnAddress`; null where it is not known. */
  ownAddress: string | null;
}

/** Tries one member once. */
export interface MemberProber {
  readonly name: string;
  /** Sends one request by way of the member and judges the answer. Never throws for what the network does. */
  probe(member: MemberToProbe, settings: ProbeSettings, context: ProbeContext): Promise<ProbeResult>;
}

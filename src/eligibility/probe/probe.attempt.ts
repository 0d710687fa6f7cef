import type { FailedProbe, MemberProber, MemberToProbe, ProbeContext, ProbeResult } from './member.prober.js';
import { ProbeError } from './probe.error.js';
import type { ProbeSettings } from './probe.settings.js';
import { withinTime } from './time.limit.js';

/** How much longer than `timeoutMs` a prober may take to come to its result; then its probe is over. */
export const PROBE_GRACE_MS = 5_000;
const MAX_EVIDENCE_LENGTH = 300;
/** What is not to be in one line of text. */
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g;

/** What a probe means for its member, and why in words; there are none where nothing is to be said. */
export interface ProbeVerdict {
  verdict: 'eligible' | 'unhealthy' | 'none';
  evidence: string;
}

/** Tries one member once. A prober that fails by itself, or comes to no end, says nothing about the member or that it does not answer. */
export async function tryMember(
  prober: MemberProber,
  member: MemberToProbe,
  settings: ProbeSettings,
  context: ProbeContext,
): Promise<ProbeVerdict> {
  try {
    const limitMs = settings.timeoutMs + PROBE_GRACE_MS;
    const { signal } = context;
    return verdictOf(
      await withinTime(limitMs, signal, (over) => prober.probe(member, settings, { ...context, signal: over })),
    );
  } catch (error) {
    if (error instanceof ProbeError) return verdictOf({ ok: false, reason: error.reason, detail: error.message });
    // Its message may tell of secrets.
    return withoutVerdict('The prober failed.');
  }
}

/** A probe that says nothing about the member. */
export function withoutVerdict(why: string): ProbeVerdict {
  return { verdict: 'none', evidence: inOneLine(`probe: no verdict: ${why}`) };
}

function verdictOf(result: ProbeResult | Omit<FailedProbe, 'latencyMs'>): ProbeVerdict {
  if (result.ok) return { verdict: 'eligible', evidence: '' };
  const { reason, detail } = result;
  if (reason === 'aborted') return { verdict: 'none', evidence: '' };
  if (reason === 'local') return withoutVerdict(detail);
  return { verdict: 'unhealthy', evidence: inOneLine(`probe: ${reason}: ${detail}`) };
}

/** What a host's prober says may be anything. */
function inOneLine(text: string): string {
  return text.replace(CONTROLS, ' ').slice(0, MAX_EVIDENCE_LENGTH);
}

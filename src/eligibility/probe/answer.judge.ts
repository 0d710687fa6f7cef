import { MATCH_BUDGET_MS, type BodyMatcher, type Verdict } from './body.matcher.js';
import { canonicalAddress, exitAddressIn } from './exit.address.js';
import type { FailedProbe, ProbeContext, ProbeFailure, ProbeResult } from './member.prober.js';
import type { ProbeAnswer } from './probe.answer.js';
import type { ProbeSettings } from './probe.settings.js';

const MISMATCHES: Record<Exclude<Verdict, 'yes'>, [ProbeFailure, detail: string]> = {
  no: ['body', 'The body does not match the pattern.'],
  late: ['pattern', `The pattern took longer than ${MATCH_BUDGET_MS} ms.`],
  failed: ['pattern', 'The pattern could not be applied to the body.'],
};

/**
 * Judges an answer by the settings.
 *
 * @throws ProbeError `aborted`
 */
export async function judgeAnswer(
  answer: ProbeAnswer,
  settings: ProbeSettings,
  context: ProbeContext,
  matcher: BodyMatcher,
): Promise<ProbeResult> {
  const { status, body, latencyMs } = answer;
  const { maxLatencyMs, bodyPattern } = settings;
  const failed = (reason: ProbeFailure, detail: string): FailedProbe => ({ ok: false, reason, detail, latencyMs });
  if (!settings.status.includes(status)) return failed('status', `The answer has status ${status}.`);
  if (maxLatencyMs !== undefined && latencyMs > maxLatencyMs) {
    return failed('latency', `The answer took ${latencyMs} ms, more than ${maxLatencyMs} ms.`);
  }
  if (bodyPattern !== undefined) {
    const verdict = await matcher.match(bodyPattern, body, context.signal);
    if (verdict !== 'yes') return failed(...MISMATCHES[verdict]);
  }
  if (settings.exitAddress === undefined) return { ok: true, latencyMs, exitAddress: null };
  const exitAddress = exitAddressIn(body, settings.exitAddressField);
  const problem = exitProblem(exitAddress, context.ownAddress);
  return problem === undefined ? { ok: true, latencyMs, exitAddress } : failed('exit-address', problem);
}

/** What is wrong with the address that a request came from; what cannot be compared does not pass. */
function exitProblem(exitAddress: string | null, ownAddress: string | null): string | undefined {
  if (exitAddress === null) return 'The body names no address.';
  if (ownAddress === null) return "The service's own address is not known.";
  if (exitAddress === canonicalAddress(ownAddress)) return "The request came from the service's own address.";
  return undefined;
}

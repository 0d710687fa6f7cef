import type { ProbeFailure } from './member.prober.js';

/** A probe cannot go on. The message is what people see of it: no secret, nothing that the far end sent. */
export class ProbeError extends Error {
  override readonly name = 'ProbeError';

  constructor(
    readonly reason: ProbeFailure,
    message: string,
  ) {
    super(message);
  }
}

const REASONS: [ProbeFailure, codes: string[]][] = [
  ['refused', ['ECONNREFUSED']],
  ['unreachable', ['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'ENETDOWN']],
  ['closed', ['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE']],
  ['local', ['EMFILE', 'ENFILE', 'EADDRNOTAVAIL', 'ENOBUFS', 'ENOMEM', 'EACCES', 'EPERM']],
];
const REASON_OF = new Map(REASONS.flatMap(([reason, codes]) => codes.map((code) => [code, reason])));

/**
 * What a failure of the network means for a probe.
 *
 * @param what what failed, as in "<what> failed (ECONNRESET)."
 * @param otherwise the reason where the error's code tells none
 */
export function networkError(error: unknown, what: string, otherwise: ProbeFailure): ProbeError {
  if (error instanceof ProbeError) return error;
  const { code } = Object(error) as { code?: unknown };
  // Codes are words of Node, of the system and of OpenSSL. An error's message may quote what the far end sent.
  const word = typeof code === 'string' && /^[A-Z][A-Z0-9_]*$/.test(code) ? code : undefined;
  return new ProbeError(reasonOf(word) ?? otherwise, `${what} failed${word === undefined ? '' : ` (${word})`}.`);
}

function reasonOf(code: string | undefined): ProbeFailure | undefined {
  if (code === undefined) return undefined;
  return code === 'ENOTFOUND' || code.startsWith('EAI_') ? 'unresolved' : REASON_OF.get(code);
}

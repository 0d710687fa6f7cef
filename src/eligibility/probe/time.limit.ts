import { setMaxListeners } from 'node:events';
import { ProbeError } from './probe.error.js';

/**
 * Does a piece of work within a time. Its signal aborts when the time is up, when the parent aborts, and when the work is
 * done: what the work ties to its signal is gone afterwards.
 *
 * @throws ProbeError `timeout` or `aborted`, at once, even where the work does not heed its signal
 */
export async function withinTime<T>(
  timeoutMs: number,
  parent: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  throwIfAborted(parent);
  const over = new AbortController();
  const timer = setTimeout(() => {
    over.abort(new ProbeError('timeout', `There was no complete answer within ${timeoutMs} ms.`));
  }, timeoutMs);
  try {
    return await unlessAborted(parent, unlessAborted(over.signal, work(over.signal)));
  } finally {
    clearTimeout(timer);
    over.abort();
  }
}

/**
 * What a promise comes to, unless the signal aborts first.
 *
 * @throws ProbeError `aborted`, or the signal's reason where that is a ProbeError
 */
export async function unlessAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  // Any number of probes may hang on one signal; each stops listening when it is done.
  setMaxListeners(0, signal);
  let stop: () => void = () => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(abortError(signal));
  });
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  try {
    return await Promise.race([aborted, promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** @throws ProbeError where the signal has aborted */
export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw abortError(signal);
}

function abortError({ reason }: AbortSignal): ProbeError {
  return reason instanceof ProbeError ? reason : new ProbeError('aborted', 'The probe was called off.');
}

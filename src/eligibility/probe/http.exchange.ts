import { once } from 'node:events';
import { request, type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import { networkError } from './probe.error.js';

/** How much of a body is read, in bytes. */
export const MAX_BODY_BYTES = 65_536;
const MAX_HEADER_BYTES = 16_384;

export interface ProbeRequest {
  method: 'GET' | 'CONNECT';
  path: string;
  /** `Host` among them. */
  headers: OutgoingHttpHeaders;
}

/** Sends a request over a connection that is open already, and is used for nothing else. */
export function sendRequest(socket: Socket, { method, path, headers }: ProbeRequest): ClientRequest {
  const sent = request({ createConnection: () => socket, method, path, headers, maxHeaderSize: MAX_HEADER_BYTES });
  sent.on('error', () => undefined);
  sent.end();
  return sent;
}

/**
 * The head of the answer to a GET.
 *
 * @throws ProbeError
 */
export async function answerTo(sent: ClientRequest): Promise<IncomingMessage> {
  try {
    // A change of protocol, which nobody asked for, comes as an event of its own.
    const [answer] = (await Promise.race([once(sent, 'response'), once(sent, 'upgrade')])) as [IncomingMessage];
    return answer;
  } catch (error) {
    throw networkError(error, 'The request', 'protocol');
  }
}

/**
 * The body of an answer as UTF-8, or its first 64 KiB.
 *
 * @throws ProbeError when it ends too early
 */
export async function readBody(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= MAX_BODY_BYTES) break;
    }
  } catch (error) {
    throw networkError(error, 'The body', 'protocol');
  }
  return Buffer.concat(chunks).subarray(0, MAX_BODY_BYTES).toString('utf8');
}

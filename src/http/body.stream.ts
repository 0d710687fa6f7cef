import type { Readable } from 'node:stream';
import { PayloadTooLargeError } from './http.errors.js';

/**
 * How many bytes beyond the limit are read, and dropped, before the answer: a client that is cut off while it still
 * sends sees a broken connection, and seldom the answer that says why.
 */
const DROPPED_LIMIT = 268_435_456;

/**
 * Reads a body whole.
 *
 * @param limit the most bytes that are taken
 * @throws PayloadTooLargeError once a longer one has come to its end, or is more than 256 MiB too long
 */
export async function readBytes(stream: Readable, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length <= limit) chunks.push(chunk);
    else chunks.length = 0;
    if (length > limit + DROPPED_LIMIT) break;
  }
  if (length > limit) throw new PayloadTooLargeError(limit);
  return Buffer.concat(chunks, length);
}

import type { Readable } from 'node:stream';
import { PayloadTooLargeError } from './http.errors.js';

/**
 * Reads a body whole.
 *
 * @param limit the most bytes that are taken
 * @throws PayloadTooLargeError as soon as there are more, or the length that was announced is
 */
export async function readBytes(stream: Readable, limit: number, announced = 0): Promise<Buffer> {
  if (announced > limit) throw new PayloadTooLargeError(limit);
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > limit) throw new PayloadTooLargeError(limit);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { SourceError } from './source.error.js';

/**
 * The bytes of a file.
 *
 * @throws SourceError when it is not there, no plain file, not readable, or larger than that
 */
export async function readFileBounded(path: string, maxBytes: number): Promise<Uint8Array> {
  try {
    // A pipe would block where it is opened.
    if (!(await stat(path)).isFile()) throw new SourceError('is not a file');
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of createReadStream(path, { end: maxBytes }) as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
    }
    if (bytes > maxBytes) throw new SourceError(`is larger than ${maxBytes} bytes`);
    return Buffer.concat(chunks);
  } catch (cause) {
    if (cause instanceof SourceError) throw cause;
    throw new SourceError(`cannot be read (${codeOf(cause)})`, { cause });
  }
}

/** The system's code of an error, or of what caused it, such as ENOENT. */
export function codeOf(error: unknown): string {
  const { code, cause } = Object(error) as { code?: unknown; cause?: unknown };
  if (typeof code === 'string') return code;
  return cause === undefined ? 'no reason known' : codeOf(cause);
}

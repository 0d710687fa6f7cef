/** The text of a list: by its byte-order mark, otherwise UTF-8. Bytes that are no text become U+FFFD; the mark is dropped. */
export function decodeList(body: Uint8Array | string): string {
  if (typeof body === 'string') return body.startsWith('\uFEFF') ? body.slice(1) : body;
  return new TextDecoder(encodingOf(body)).decode(body);
}

function encodingOf(body: Uint8Array): string {
  if (body[0] === 0xff && body[1] === 0xfe) return 'utf-16le';
  if (body[0] === 0xfe && body[1] === 0xff) return 'utf-16be';
  return 'utf-8';
}

/** The lines of a text with their numbers from 1; they end with CR, LF or CRLF. Lazy, and in time that is linear. */
export function* linesOf(text: string): Generator<{ line: number; content: string }> {
  let line = 1;
  let start = 0;
  for (const end of text.matchAll(/\r\n|\r|\n/g)) {
    yield { line, content: text.slice(start, end.index) };
    start = end.index + end[0].length;
    line++;
  }
  if (start < text.length) yield { line, content: text.slice(start) };
}

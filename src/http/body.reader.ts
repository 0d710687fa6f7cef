import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { ValidationFailedError } from '../errors/domain.errors.js';
import { parseInput } from '../errors/parse.input.js';
import { LIST_FORMATS, type ListFormat } from '../pool/lists/member.list.js';
import { parseStrictJson } from '../pool/lists/strict.json.js';
import type { MemberSource } from '../pool/member.importer.js';
import { readBytes } from './body.stream.js';
import { UnsupportedMediaTypeError } from './http.errors.js';
import { type HttpRequest, mediaTypeOf } from './http.request.js';
import { readQuery } from './query.reader.js';

/** Bytes of a body that is not an import. */
export const BODY_LIMIT = 1_048_576;
/** Bytes of an import, unless the service is told otherwise. */
export const IMPORT_LIMIT = 33_554_432;

const nothing = z.strictObject({});

const FORMATS: Readonly<Record<string, ListFormat>> = {
  'application/json': 'json',
  'text/plain': 'text',
  'application/x-ndjson': 'ndjson',
  'text/csv': 'csv',
};
/** The media types of lists, in the order of LIST_FORMATS. */
export const LIST_MEDIA_TYPES = LIST_FORMATS.map(
  (format) => Object.keys(FORMATS).find((type) => FORMATS[type] === format) ?? format,
);

/**
 * The JSON of a body; `{}` where there is none. A body that the host application has parsed is taken as it is.
 *
 * @throws ValidationFailedError with line and column, UnsupportedMediaTypeError for anything that is not JSON
 */
export function readJsonBody({ headers, body }: HttpRequest): unknown {
  if (body === undefined || body === null) return {};
  if (!Buffer.isBuffer(body) && typeof body !== 'string') return body;
  if (body.length === 0) return {};
  requireCharset(headers['content-type']);
  if (mediaTypeOf(headers) !== 'application/json') {
    throw new UnsupportedMediaTypeError('Only application/json is taken here.');
  }
  return parseStrictJson(typeof body === 'string' ? body : decodeUtf8(body));
}

/** Of a route that takes no fields: neither in the query nor in a body. @throws ValidationFailedError */
export function requireNothing(request: HttpRequest): void {
  readQuery(nothing, request);
  parseInput(nothing, readJsonBody(request));
}

/**
 * The list in the body of an import, by its media type.
 *
 * @throws UnsupportedMediaTypeError which names the types that are taken
 */
export async function readMemberSource(request: HttpRequest): Promise<MemberSource> {
  const type = mediaTypeOf(request.headers);
  const format = Object.hasOwn(FORMATS, type) ? FORMATS[type] : undefined;
  if (!format) throw new UnsupportedMediaTypeError(`A list is taken as ${LIST_MEDIA_TYPES.join(', ')}.`);
  requireCharset(request.headers['content-type']);
  return { format, body: await listBody(request) };
}

/** Hosts parse JSON, and leave alone what they do not know. */
async function listBody(request: HttpRequest): Promise<Uint8Array | string> {
  // On Express the request is Node's own.
  const { body, raw = request as unknown as IncomingMessage } = request;
  if (Buffer.isBuffer(body) || typeof body === 'string') return body;
  if (!raw.readableEnded && body === undefined) return readBytes(raw, IMPORT_LIMIT);
  return body === undefined || body === null ? '' : JSON.stringify(body);
}

/** JSON is UTF-8 (RFC 8259), and lists say by their first bytes what they are. */
function requireCharset(contentType: string | undefined): void {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType ?? '')?.[1];
  if (charset === undefined || /^(utf-?8|us-ascii|utf-?16(le|be)?)$/i.test(charset)) return;
  throw new UnsupportedMediaTypeError('The charset of the body must be utf-8.');
}

function decodeUtf8(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    const message = 'is not valid UTF-8';
    throw new ValidationFailedError(`The body ${message}.`, [{ path: '', message }]);
  }
}

import { codeOf } from './file.reader.js';
import { SourceError } from './source.error.js';

const MAX_REDIRECTS = 5;
const REDIRECTS = [301, 302, 303, 307, 308];

export interface UrlLimits {
  /** Of the body, after decompression. */
  maxBytes: number;
  /** For the whole of it, redirects and body included; in milliseconds. */
  timeoutMs: number;
}

/** A URL as people may see it: without credentials and query. */
export function shownUrl(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}

/**
 * The bytes that an http(s) URL answers with. Credentials in it are sent as basic authentication, to its own origin only.
 *
 * @throws SourceError when there is no complete answer of status 200 within the limits
 */
export async function readUrl(url: string, { maxBytes, timeoutMs }: UrlLimits): Promise<Uint8Array> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetchFollowing(new URL(url), signal);
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new SourceError(`answered with status ${response.status}`);
    }
    return await readBody(response, maxBytes);
  } catch (cause) {
    if (cause instanceof SourceError) throw cause;
    if (signal.aborted) throw new SourceError(`gave no complete answer within ${timeoutMs} ms`, { cause });
    throw new SourceError(`could not be reached (${codeOf(cause)})`, { cause });
  }
}

async function fetchFollowing(start: URL, signal: AbortSignal): Promise<Response> {
  let at = start;
  let authorization = authorizationOf(start);
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const headers = new Headers();
    if (authorization !== undefined) headers.set('authorization', authorization);
    const response = await fetch(withoutCredentials(at), { redirect: 'manual', signal, headers });
    const location = response.headers.get('location');
    if (location === null || !REDIRECTS.includes(response.status)) return response;
    await response.body?.cancel();
    const next = redirectTarget(location, at);
    authorization = authorizationOf(next) ?? (next.origin === at.origin ? authorization : undefined);
    at = next;
  }
  throw new SourceError(`redirects more than ${MAX_REDIRECTS} times`);
}

function redirectTarget(location: string, from: URL): URL {
  const target = URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  if (!target || !/^https?:$/.test(target.protocol)) throw new SourceError('redirects to what is no http(s) URL');
  return target;
}

async function readBody(response: Response, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    // Leaving the loop cancels what is still to come.
    if (bytes > maxBytes) throw new SourceError(`is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function withoutCredentials(url: URL): URL {
  const bare = new URL(url);
  bare.username = '';
  bare.password = '';
  return bare;
}

function authorizationOf({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined;
  return `Basic ${Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64')}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

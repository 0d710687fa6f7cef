import { oneLine } from '../one.line.js';
import { LauncherCallError } from './launcher.js';

const MAX_ANSWER_BYTES = 8_388_608;
const MAX_MESSAGE_LENGTH = 200;

/** The connection was never there, so that the node heard nothing. */
const NEVER_REACHED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
  // No connection without TLS, or not one to be trusted: nothing was sent.
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);
/** What `fetch` says of ports that it never connects to, such as 6000. */
const REFUSED_PORT = 'bad port';

/** The node was not reached: it has heard nothing of the call. */
export class NodeNotReachedError extends LauncherCallError {}

export interface NodeRequest {
  method: 'GET' | 'POST' | 'DELETE';
  /** Below the address of the node, with its query. */
  path: string;
  /** A form, or JSON for anything else. */
  body?: URLSearchParams | object | undefined;
}

export interface NodeAnswer {
  status: number;
  text: string;
  /** What it was called with and must not be shown, should the node say it. */
  secrets: readonly string[];
}

/**
 * One call to a node. Redirects are not followed, since they would carry the credentials elsewhere.
 *
 * @param address the member's value: `http://user:password@host:port/path`; the user and password go into a header
 * @throws NodeNotReachedError | LauncherCallError with messages that hold nothing of the address and of the answer
 */
export async function callNode(address: string, request: NodeRequest, signal: AbortSignal): Promise<NodeAnswer> {
  const { url, headers, secrets } = targetOf(address, request.path);
  const { body, method } = request;
  const isForm = body instanceof URLSearchParams;
  if (body !== undefined && !isForm) headers['content-type'] = 'application/json';
  try {
    const response = await fetch(url, {
      method,
      headers,
      redirect: 'manual',
      signal,
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    });
    return { status: response.status, text: await textOf(response), secrets };
  } catch (error) {
    if (error instanceof LauncherCallError) throw error;
    throw callError(error, signal);
  }
}

/** The JSON object of an answer; undefined where it is none. */
export function jsonOf({ text }: NodeAnswer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** What a node said in an answer, as a part of one line. */
export function quoted(text: unknown, { secrets }: Pick<NodeAnswer, 'secrets'>): string {
  const said = typeof text === 'string' ? text : JSON.stringify(text ?? null);
  const shown = secrets.reduce((left, secret) => left.replaceAll(secret, '***'), said);
  return oneLine(shown, MAX_MESSAGE_LENGTH);
}

interface Target {
  url: URL;
  headers: Record<string, string>;
  secrets: readonly string[];
}

function targetOf(address: string, path: string): Target {
  const base = URL.canParse(address) ? new URL(address) : undefined;
  if (!base || (base.protocol !== 'http:' && base.protocol !== 'https:')) {
    throw new NodeNotReachedError('the value of the member is no http:// or https:// address');
  }
  const headers: Record<string, string> = { accept: 'application/json' };
  const secrets: string[] = [];
  if (base.username || base.password) {
    const password = decoded(base.password);
    const pair = Buffer.from(`${decoded(base.username)}:${password}`).toString('base64');
    headers['authorization'] = `Basic ${pair}`;
    secrets.push(...[pair, base.password, password].filter((secret) => secret !== ''));
  }
  const root = base.pathname.replace(/\/+$/, '');
  return { url: new URL(`${base.origin}${root}/${path.replace(/^\/+/, '')}`), headers, secrets };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch (error) {
    const message = 'a "%" in the user or password of the member\'s value must be written as "%25"';
    throw new NodeNotReachedError(message, { cause: error });
  }
}

async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > MAX_ANSWER_BYTES) throw new LauncherCallError('the answer of the node is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function callError(error: unknown, signal: AbortSignal): LauncherCallError {
  const code = codeOf(error);
  if (code !== undefined && (code === REFUSED_PORT || NEVER_REACHED.has(code))) {
    return new NodeNotReachedError(`the node was not reached (${code})`, { cause: error });
  }
  if (signal.aborted) return new LauncherCallError('the node gave no answer in time', { cause: error });
  return new LauncherCallError(`the connection to the node broke${code === undefined ? '' : ` (${code})`}`, {
    cause: error,
  });
}

function codeOf(error: unknown): string | undefined {
  const { cause } = error as { cause?: { code?: string; message?: string; errors?: { code?: string }[] } };
  if (cause?.message === REFUSED_PORT) return REFUSED_PORT;
  return cause?.code ?? cause?.errors?.[0]?.code;
}

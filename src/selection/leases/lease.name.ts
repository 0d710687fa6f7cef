import { randomBytes } from 'node:crypto';

/** 128 random bits in URL-safe base64. */
const TOKEN_BYTES = 16;
/** Drawn from the system together. */
const TOKENS_AT_ONCE = 256;
let random = Buffer.alloc(0);
let used = 0;
/** In URL-safe base64. */
const TOKEN_LENGTH = 22;
/** A member id of 512 characters of three bytes each, in base64, and what stands before it. */
const MAX_ID_LENGTH = 2_100;

/** A lease as Redis names it: `<token><. or ~><fence in hex>.<member id>`; `~` where it has notes. */
export interface LeaseName {
  name: string;
  fence: number;
  memberId: string;
}

/** A token that nobody can guess; a lease begins with one, and so does a waiter's. */
export function newToken(): string {
  if (used >= random.length) {
    random = randomBytes(TOKEN_BYTES * TOKENS_AT_ONCE);
    used = 0;
  }
  return random.toString('base64url', used, (used += TOKEN_BYTES));
}

/** The lease of a name that Redis has. */
export function readLeaseName(name: string): LeaseName {
  const dot = name.indexOf('.', TOKEN_LENGTH + 1);
  return { name, fence: fenceIn(name, dot), memberId: name.slice(dot + 1) };
}

/** The id by which callers know the lease: the name with the member's id in URL-safe base64. */
export function leaseIdOf({ name, memberId }: LeaseName): string {
  return name.slice(0, name.length - memberId.length) + encode(memberId);
}

/** The lease of such an id; undefined for a text that no lease has. What is no lease's otherwise Redis will not know. */
export function readLeaseId(id: string): LeaseName | undefined {
  const mark = id.charAt(TOKEN_LENGTH);
  const end = id.indexOf('.', TOKEN_LENGTH + 1) + 1;
  if (end === 0 || end === id.length || id.length > MAX_ID_LENGTH || (mark !== '.' && mark !== '~')) return undefined;
  const memberId = decode(id.slice(end));
  if (memberId === undefined) return undefined;
  return { name: id.slice(0, end) + memberId, fence: fenceIn(id, end - 1), memberId };
}

/** Members come again and again; with one call in flight these conversions were a twentieth of a lease's time. */
const MAX_REMEMBERED = 4_096;
const encoded = new Map<string, string>();
const decoded = new Map<string, string>();

function encode(memberId: string): string {
  let text = encoded.get(memberId);
  if (text === undefined) {
    text = Buffer.from(memberId).toString('base64url');
    remember(encoded, memberId, text);
  }
  return text;
}

/** Undefined for a text that `encode` does not make. */
function decode(text: string): string | undefined {
  let memberId = decoded.get(text);
  if (memberId === undefined) {
    memberId = Buffer.from(text, 'base64url').toString('utf8');
    if (Buffer.from(memberId).toString('base64url') !== text) return undefined;
    remember(decoded, text, memberId);
  }
  return memberId;
}

function remember(known: Map<string, string>, from: string, to: string): void {
  if (known.size >= MAX_REMEMBERED) known.clear();
  // A copy: a part of a text would keep the whole of it.
  known.set(Buffer.from(from).toString(), to);
}

function fenceIn(text: string, end: number): number {
  return Number.parseInt(text.slice(TOKEN_LENGTH + 1, end), 16);
}

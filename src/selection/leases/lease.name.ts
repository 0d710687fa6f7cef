import { randomBytes } from 'node:crypto';

/** 128 random bits in URL-safe base64. */
const TOKEN_BYTES = 16;
/** Drawn from the system together. */
const TOKENS_AT_ONCE = 256;
let random = Buffer.alloc(0);
let used = 0;
const ID = /^([A-Za-z0-9_-]{22})([.~])([0-9a-f]{1,14})\.([A-Za-z0-9_-]{1,2100})$/;

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
  const dot = name.indexOf('.', 23);
  return { name, fence: Number.parseInt(name.slice(23, dot), 16), memberId: name.slice(dot + 1) };
}

/** The id by which callers know the lease: the name with the member's id in URL-safe base64. */
export function leaseIdOf({ name, memberId }: LeaseName): string {
  return name.slice(0, name.length - memberId.length) + Buffer.from(memberId).toString('base64url');
}

/** The lease of such an id; undefined for a text that no lease has. */
export function readLeaseId(id: string): LeaseName | undefined {
  const match = ID.exec(id);
  if (!match) return undefined;
  const [, token = '', mark = '', fence = '', member = ''] = match;
  const memberId = Buffer.from(member, 'base64url').toString('utf8');
  return { name: `${token}${mark}${fence}.${memberId}`, fence: Number.parseInt(fence, 16), memberId };
}

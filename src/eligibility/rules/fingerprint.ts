import { createHash } from 'node:crypto';

const HEX_DIGITS = 16;

/** 16 hex digits (of SHA-256) that differ from content to content; the order of keys makes no difference, that of lists does. */
export function fingerprintOf(content: object): string {
  return createHash('sha256').update(JSON.stringify(content, inOrderOfKeys)).digest('hex').slice(0, HEX_DIGITS);
}

function inOrderOfKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries);
}

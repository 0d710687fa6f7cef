import { createHash } from 'node:crypto';
import type { Policy } from './policy.settings.js';

const HEX_DIGITS = 16;

/** 16 hex digits (of SHA-256) that differ from policy to policy; the order of keys makes no difference, that of lists does. */
export function policyFingerprint(policy: Policy): string {
  return createHash('sha256').update(JSON.stringify(policy, inOrderOfKeys)).digest('hex').slice(0, HEX_DIGITS);
}

function inOrderOfKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries);
}

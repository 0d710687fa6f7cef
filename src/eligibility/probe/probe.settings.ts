import { z } from 'zod';

const MAX_URL_LENGTH = 2_048;
const MAX_PATTERN_LENGTH = 512;
const MAX_INTERVAL_MS = 7 * 24 * 60 * 60 * 1_000;
const URL_RULE = `must be an http or https URL of at most ${MAX_URL_LENGTH} characters, without credentials`;
const PATTERN_RULE = `must be a regular expression of at most ${MAX_PATTERN_LENGTH} characters that is valid with the flag u`;

/** How the members of a pool are probed. */
export const probeSchema = z.strictObject({
  prober: z
    .string()
    .min(1)
    .max(64)
    .default('proxy')
    .describe('What tries a member: `proxy` sends a request through it; a host application may provide others'),
  url: z
    .string(URL_RULE)
    .max(MAX_URL_LENGTH, URL_RULE)
    .refine(isPlainHttpUrl, URL_RULE)
    .describe('What is asked for through the member; http or https, without credentials')
    .meta({ example: 'https://example.com/ip' }),
  timeoutMs: z
    .int()
    .min(100)
    .max(60_000)
    .default(10_000)
    .describe('How long a probe may take, from its first packet to the last byte of the body that is read, in ms'),
  status: z
    .array(z.int().min(200).max(599))
    .min(1)
    .max(100)
    .default([200])
    .describe('Status codes that are accepted; redirects are not followed'),
  bodyPattern: z
    .string(PATTERN_RULE)
    .min(1, PATTERN_RULE)
    .max(MAX_PATTERN_LENGTH, PATTERN_RULE)
    .refine(isPattern, PATTERN_RULE)
    .optional()
    .describe('Regular expression (flag u) that the first 64 KiB of the body must match'),
  maxLatencyMs: z
    .int()
    .min(1)
    .max(60_000)
    .optional()
    .describe('The longest that an answer may have taken, body included, in ms'),
  exitAddress: z
    .literal('differs')
    .optional()
    .describe('The body holds the address that the request came from, and that must not be our own'),
  exitAddressField: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .describe(
      'The body is a JSON object, and this field of it holds the address; without it, the first IP address counts',
    )
    .meta({ example: 'ip' }),
  intervalMs: z
    .int()
    .min(10_000)
    .max(MAX_INTERVAL_MS)
    .default(300_000)
    .describe('How often unhealthy members and candidates are tried again, in ms'),
  concurrency: z.int().min(1).max(1_000).default(50).describe('Most probes of the pool at the same time'),
});

export type ProbeSettingsInput = z.input<typeof probeSchema>;
export type ProbeSettings = z.output<typeof probeSchema>;

function isPlainHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return /^https?:$/.test(protocol) && username === '' && password === '';
}

function isPattern(text: string): boolean {
  try {
    new RegExp(text, 'u');
    return true;
  } catch {
    return false;
  }
}

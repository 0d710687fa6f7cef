import { z } from 'zod';

const MAX_TARGET_LENGTH = 253;
const TARGET_RULE = `must be 1 to ${MAX_TARGET_LENGTH} characters, none of them a control character`;

/** What members are used on: a host name, or whatever else may ban them. Compared as it is written. */
export const targetSchema = z
  .string(TARGET_RULE)
  .min(1, TARGET_RULE)
  .max(MAX_TARGET_LENGTH, TARGET_RULE)
  .regex(/^[^\p{Cc}\p{Cs}]*$/u, TARGET_RULE)
  .describe('What the member is used on; bans there count')
  .meta({ example: 'example.com' });

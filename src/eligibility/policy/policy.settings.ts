import { z } from 'zod';
import { PROXY_SCHEMES } from '../../pool/lists/member.list.js';
import { labelsSchema, MEMBER_LIMITS } from '../../pool/member.schema.js';
import { readPorts } from './port.range.js';
import { readRange } from './range.reader.js';

const MAX_SCHEMES = 16;
const MAX_PORTS = 64;
const MAX_RANGES = 1_000;
const MAX_LABEL_VALUES = 256;
/** In characters; longer than any port range, or address with its prefix, can be. */
const MAX_PORTS_LENGTH = 16;
const MAX_RANGE_LENGTH = 64;

const SCHEME_RULE = `must be one of ${PROXY_SCHEMES.join(', ')}`;
const PORT_RULE = 'must be a port from 1 to 65535, or a range such as "8000-8999" with the lower port first';
const LABEL_RULE = `must be a text, a number, true or false, or a list of 1 to ${MAX_LABEL_VALUES} of these`;

const portsSchema = z
  .union([z.int(), z.string().max(MAX_PORTS_LENGTH, { error: PORT_RULE, abort: true })], { error: PORT_RULE })
  .refine((given) => readPorts(given) !== undefined, PORT_RULE);

const rangeSchema = z
  .string('must be a text')
  .max(MAX_RANGE_LENGTH, { error: `must be at most ${MAX_RANGE_LENGTH} characters`, abort: true })
  .superRefine((text, context) => {
    const range = readRange(text);
    if ('reason' in range) context.addIssue({ code: 'custom', message: range.reason });
  });

const labelRulesSchema = z
  .record(
    labelsSchema.keyType,
    z.union(
      [labelsSchema.valueType, z.array(labelsSchema.valueType).min(1, LABEL_RULE).max(MAX_LABEL_VALUES, LABEL_RULE)],
      {
        error: LABEL_RULE,
      },
    ),
    {
      error: (issue) =>
        issue.code === 'invalid_key'
          ? `must be named by 1 to ${MEMBER_LIMITS.labelNameLength} characters`
          : 'must be an object of labels',
    },
  )
  .refine(
    (rules) => Object.keys(rules).length <= MEMBER_LIMITS.labels,
    `must be at most ${MEMBER_LIMITS.labels} labels`,
  )
  .meta({ maxProperties: MEMBER_LIMITS.labels });

function listOf<Element extends z.ZodType>(element: Element, most: number) {
  const rule = `must be a list of 1 to ${most}`;
  return z.array(element, rule).min(1, rule).max(most, rule).optional();
}

/** Which members a pool hands out, by what they are; an absent rule lets every member pass. */
export const policySchema = z
  .strictObject({
    schemes: listOf(z.enum(PROXY_SCHEMES, SCHEME_RULE), MAX_SCHEMES)
      .describe('Schemes that a proxy may have')
      .meta({ example: ['http', 'socks5'] }),
    ports: listOf(portsSchema, MAX_PORTS)
      .describe('Ports that a proxy may have: numbers, and ranges as text')
      .meta({ example: [3128, '8000-8999'] }),
    allow: listOf(rangeSchema, MAX_RANGES)
      .describe('Addresses that a proxy may have: CIDR ranges, single addresses, `private`, `special`; absent for all')
      .meta({ example: ['198.51.100.0/24', '2001:db8::/32'] }),
    deny: listOf(rangeSchema, MAX_RANGES)
      .describe('Addresses that no proxy may have, written as in `allow`, over which it wins')
      .meta({ example: ['special', '203.0.113.7'] }),
    hostnames: z
      .enum(['allow', 'forbid'], 'must be allow or forbid')
      .optional()
      .describe('Whether a host may be a name, which is in no range since it is never resolved; `allow` if absent')
      .meta({ example: 'forbid' }),
    labels: z
      .strictObject({
        required: labelRulesSchema.optional().describe('Labels that a member must have'),
        forbidden: labelRulesSchema.optional().describe('Labels that a member must not have'),
      })
      .optional()
      .describe('By name: a value, a list of values of which one must match, or true for any value')
      .meta({ example: { required: { country: ['DE', 'FR'] }, forbidden: { banned: true } } }),
    credentials: z
      .enum(['required', 'forbidden'], 'must be required or forbidden')
      .optional()
      .describe('Whether a proxy must, or must not, have a user name; either if absent')
      .meta({ example: 'required' }),
  })
  .describe('Which members are fit, by what they are; an absent rule lets every member pass');

export type Policy = z.infer<typeof policySchema>;
export type LabelRules = z.infer<typeof labelRulesSchema>;

import { z } from 'zod';

/** Lengths are in characters (UTF-16 code units). */
export const MEMBER_LIMITS = {
  idLength: 512,
  valueLength: 4_096,
  labels: 32,
  labelNameLength: 256,
  labelValueLength: 256,
  weight: 100,
  capacity: 1_000,
} as const;

/** A key of this name reaches the prototype in careless code, so that it is no name for anything here. */
const PROTOTYPE_KEY = '__proto__';

const ID_RULE = 'must be 1 to 512 characters, none of them a control character';
const VALUE_RULE = 'must be a text of 1 to 4096 characters';
const LABEL_NAME_RULE = 'must be named by 1 to 256 characters';
const LABEL_VALUE_RULE = 'must be a text of at most 256 characters, a finite number, true or false';
const WEIGHT_RULE = 'must be a whole number from 1 to 100';
const CAPACITY_RULE = 'must be a whole number from 1 to 1000, or null';

export const memberIdSchema = z
  .string(ID_RULE)
  .min(1, ID_RULE)
  .max(MEMBER_LIMITS.idLength, ID_RULE)
  .regex(/^[^\p{Cc}\p{Cs}]*$/u, ID_RULE)
  .refine((id) => id !== PROTOTYPE_KEY, `must not be ${PROTOTYPE_KEY}`)
  .describe('Public name of the member; never holds a password')
  .meta({ example: 'http://192.0.2.7:8080' });

export const memberValueSchema = z
  .string(VALUE_RULE)
  .min(1, VALUE_RULE)
  .max(MEMBER_LIMITS.valueLength, VALUE_RULE)
  .describe('What a worker uses; may be secret')
  .meta({ example: 'http://user:pass@192.0.2.7:8080' });

const labelValueSchema = z.union([z.string().max(MEMBER_LIMITS.labelValueLength), z.number(), z.boolean()], {
  error: LABEL_VALUE_RULE,
});

/** Bodies that hold the key `__proto__` are refused before they get here, by `parseStrictJson`; Zod itself drops it. */
export const labelsSchema = z
  .record(z.string().min(1).max(MEMBER_LIMITS.labelNameLength), labelValueSchema, {
    error: (issue) => (issue.code === 'invalid_key' ? LABEL_NAME_RULE : 'must be an object of labels'),
  })
  .refine((labels) => Object.keys(labels).length <= MEMBER_LIMITS.labels, 'must be at most 32 labels')
  .describe('What is known about the member, for people and for filters')
  .meta({ example: { country: 'DE' }, maxProperties: MEMBER_LIMITS.labels });

export const weightSchema = z
  .int(WEIGHT_RULE)
  .min(1, WEIGHT_RULE)
  .max(MEMBER_LIMITS.weight, WEIGHT_RULE)
  .describe('Share of the selections relative to the other members')
  .meta({ example: 3 });

export const capacitySchema = z
  .int(CAPACITY_RULE)
  .min(1, CAPACITY_RULE)
  .max(MEMBER_LIMITS.capacity, CAPACITY_RULE)
  .nullable()
  .describe("Most live leases at once; null for the pool's capacity")
  .meta({ example: 4 });

/** A member as a JSON import names it. */
export const memberEntrySchema = z
  .strictObject(
    {
      id: memberIdSchema.optional(),
      value: memberValueSchema.optional(),
      labels: labelsSchema.optional(),
      weight: weightSchema.optional(),
      capacity: capacitySchema.optional(),
    },
    { error: (issue) => (issue.code === 'invalid_type' ? 'must be an object' : undefined) },
  )
  .refine((entry) => entry.id !== undefined || entry.value !== undefined, 'must have an id, or a value that is a proxy')
  .describe(
    '`value` alone only where it is a proxy, whose id follows from it; otherwise `id`, with `value` defaulting to it',
  )
  .meta({ example: { value: 'socks5://user:pass@192.0.2.7:1080', labels: { country: 'DE' }, weight: 3 } });
export type MemberEntry = z.output<typeof memberEntrySchema>;

/** The first form of a JSON import, for documentation; the import itself checks entry by entry and rejects only those that are wrong. */
export const memberListSchema = z.strictObject({ members: z.array(memberEntrySchema) });

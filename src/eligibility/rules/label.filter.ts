import { z } from 'zod';
import { labelsSchema } from '../../pool/member.schema.js';

/** Every selection updates the views of its member, so that filters are few. */
const MAX_FILTERS = 8;
const MAX_LABELS = 8;
const FILTERS_RULE = `must be a list of at most ${MAX_FILTERS} filters`;
const FILTER_RULE = `must be a list of 1 to ${MAX_LABELS} names of labels`;

const filterSchema = z
  .array(labelsSchema.keyType, FILTER_RULE)
  .min(1, FILTER_RULE)
  .max(MAX_LABELS, FILTER_RULE)
  .refine((names) => new Set(names).size === names.length, 'must name each label once')
  .transform((names) => [...names].sort());

/** The labels that selections may ask for together, each list a filter. */
export const filtersSchema = z
  .array(filterSchema, FILTERS_RULE)
  .max(MAX_FILTERS, FILTERS_RULE)
  .refine((filters) => new Set(filters.map(filterIdOf)).size === filters.length, 'must name each filter once')
  .describe('The labels that selections may ask for, each list together: `[["country"], ["country", "type"]]`')
  .meta({ example: [['country'], ['country', 'type']] });

/** Names of labels, in order. */
export type LabelFilter = readonly string[];

/** A filter as one line of text, for comparison. */
export function filterIdOf(filter: LabelFilter): string {
  return JSON.stringify([...filter].sort());
}

import { z } from 'zod';
import { ValidationFailedError } from '../errors/domain.errors.js';
import { parseInput } from '../errors/parse.input.js';
import { StrictJsonError } from '../pool/lists/strict.json.error.js';
import { parseStrictJson } from '../pool/lists/strict.json.js';
import type { HttpRequest } from './http.request.js';

type WireType = 'integer' | 'boolean' | 'string';

/** Types of the parameters of each schema, found out once. */
const wireTypes = new WeakMap<z.ZodObject, ReadonlyMap<string, WireType>>();

/**
 * Checks a query: numbers and booleans are read from the text, a parameter that is unknown or stands twice is refused.
 *
 * @throws ValidationFailedError naming the parameter
 */
export function readQuery<Schema extends z.ZodObject>(schema: Schema, { query }: HttpRequest): z.output<Schema> {
  const types = typesOf(schema);
  const given = Object.entries(query).map(([name, value]) => [name, fromText(name, value, types.get(name))] as const);
  return parseInput(schema, Object.fromEntries(given));
}

/**
 * The value of a parameter that is JSON.
 *
 * @throws ValidationFailedError naming the parameter
 */
export function readJsonParameter(name: string, text: string): unknown {
  try {
    return parseStrictJson(text);
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error;
    const message = `must be JSON, percent-encoded: ${error.problem}`;
    throw new ValidationFailedError(`"${name}" ${message}.`, [{ path: name, message }]);
  }
}

function typesOf(schema: z.ZodObject): ReadonlyMap<string, WireType> {
  let types = wireTypes.get(schema);
  if (!types) {
    const { properties = {} } = z.toJSONSchema(schema, { io: 'input' });
    types = new Map(Object.entries(properties).map(([name, property]) => [name, typeOf(property)]));
    wireTypes.set(schema, types);
  }
  return types;
}

function typeOf(property: z.core.JSONSchema._JSONSchema): WireType {
  const type = typeof property === 'object' ? property.type : undefined;
  return type === 'integer' || type === 'boolean' ? type : 'string';
}

/** A text that is no number or boolean stays what it is, for the schema to refuse. */
function fromText(name: string, value: unknown, type: WireType | undefined): unknown {
  if (typeof value !== 'string') {
    const message = 'must stand once';
    throw new ValidationFailedError(`"${name.slice(0, 64)}" ${message}.`, [{ path: name.slice(0, 64), message }]);
  }
  if (type === 'integer' && /^-?\d{1,15}$/.test(value)) return Number(value);
  if (type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true';
  return value;
}

import type { z } from 'zod';
import { ValidationFailedError, type ValidationProblem } from './domain.errors.js';

/** How many problems one error names at most. */
const MAX_PROBLEMS = 20;

/**
 * Checks an input against its schema.
 *
 * @param at the path of the input itself, such as `pool`; empty for a body
 * @throws ValidationFailedError which names every field that is wrong, and shows no value
 */
export function parseInput<Schema extends z.ZodType>(schema: Schema, input: unknown, at = ''): z.output<Schema> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const problems = result.error.issues.slice(0, MAX_PROBLEMS).map((issue) => problemOf(issue, at));
  throw new ValidationFailedError(summary(problems), problems);
}

function problemOf(issue: z.core.$ZodIssue, at: string): ValidationProblem {
  const path = [at, ...issue.path.map(String)].filter((part) => part !== '').join('.');
  if (issue.code !== 'unrecognized_keys') return { path, message: issue.message };
  const unknown = [path, issue.keys[0]].filter((part) => part !== '').join('.');
  return { path: unknown, message: 'is not a known field' };
}

function summary(problems: readonly ValidationProblem[]): string {
  const [first] = problems;
  if (!first) return 'The input is not valid.';
  const where = first.path === '' ? 'The input' : `"${first.path}"`;
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
  return `${where}: ${first.message}${more}.`;
}

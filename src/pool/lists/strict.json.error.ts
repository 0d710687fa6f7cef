import { ValidationFailedError } from '../../errors/domain.errors.js';

/** A text is not JSON, or JSON that two readers could understand differently. Shows no values, which may be secret. */
export class StrictJsonError extends ValidationFailedError {
  /**
   * @param problem what is wrong, in words that can stand before "at line 1"
   * @param malformed the text is no JSON at all
   * @param path dotted path of the key; empty where none is known
   */
  constructor(
    readonly problem: string,
    readonly malformed: boolean,
    readonly line: number,
    readonly column: number,
    readonly path: string,
  ) {
    super(`${problem} at line ${line}, column ${column}.`, [
      { path, message: `${problem} at line ${line}, column ${column}` },
    ]);
  }
}

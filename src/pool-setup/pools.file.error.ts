/** The pools file is not as it must be, or a list that it names cannot be read; nothing was written. Shows no values. */
export class PoolsFileError extends Error {
  override readonly name = 'PoolsFileError';

  /** @param problems one line each: file and line, the field, and what would be right */
  constructor(
    readonly problems: readonly string[],
    options?: { cause?: unknown },
  ) {
    super(['The pools file is not valid:', ...problems.map((problem) => `  ${problem}`)].join('\n'), options);
  }
}

/** The environment is not as it must be; the start ends here. Shows no values, since some are secret. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';

  /** @param problems one line each: the variable, and what would be right */
  constructor(readonly problems: readonly string[]) {
    super(['The configuration is not valid:', ...problems.map((problem) => `  ${problem}`)].join('\n'));
  }
}

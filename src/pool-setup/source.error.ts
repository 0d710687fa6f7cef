/** A source of members cannot be read. The message says why, and shows nothing of the address. */
export class SourceError extends Error {
  override readonly name = 'SourceError';
}

/** The embedded Redis cannot be started; the message says what to do. */
export class EmbeddedRedisError extends Error {
  override readonly name = 'EmbeddedRedisError';
}

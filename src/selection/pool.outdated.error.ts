/** What a process remembers of a pool is old, or a change of strategy is half done: nothing happened; read it again. */
export class PoolOutdatedError extends Error {
  constructor(readonly pool: string) {
    super(`The pool "${pool}" is not as this process remembers it.`);
    this.name = 'PoolOutdatedError';
  }
}

import type { Redis } from 'ioredis';

/** How many times within the timeout it looks. */
const LOOKS = 8;

/**
 * Ends a connection whose oldest command has had no answer for as long as a command may take, at most an eighth earlier. One
 * timer a connection that runs all the time; ioredis' `socketTimeout` would set and clear one with every command.
 */
export function watchCommands(client: Redis, timeoutMs: number): void {
  let timer: NodeJS.Timeout | undefined;
  let oldest: unknown;
  let looks = 0;
  const look = (): void => {
    const head = client.commandQueue.peekFront();
    looks = head !== undefined && head === oldest ? looks + 1 : 0;
    oldest = head;
    if (looks < LOOKS - 1) return;
    looks = 0;
    client.stream.destroy(new Error(`Command timed out after ${timeoutMs} ms.`));
  };
  client.on('connect', () => {
    clearInterval(timer);
    timer = setInterval(look, timeoutMs / LOOKS).unref();
  });
  client.on('close', () => {
    clearInterval(timer);
    oldest = undefined;
  });
}

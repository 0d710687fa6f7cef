import { afterEach } from '@jest/globals';

interface Stoppable {
  stop(): Promise<void>;
}

/** What the tests of a file start is stopped when each of them has ended, however it ended. */
export function useRunning(): <T extends Stoppable>(starting: Promise<T>) => Promise<T> {
  const started: Stoppable[] = [];
  afterEach(async () => {
    await Promise.all(started.splice(0).map((server) => server.stop()));
  });
  return async (starting) => {
    const server = await starting;
    started.push(server);
    return server;
  };
}

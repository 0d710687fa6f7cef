import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('lease.child.mjs', import.meta.url));

/** Starts one contestant in a process of its own, so that none pays for the garbage of another. */
export async function startContestant(args, execArgv) {
  const child = fork(PROGRAM, args.map(String), { execArgv });
  const ended = once(child, 'exit');
  const answer = async () => {
    const [found] = await Promise.race([once(child, 'message'), ended.then(() => fail(args[0]))]);
    return found;
  };
  await answer();
  return {
    /** Microseconds a cycle. */
    async run(cycles, callers) {
      child.send({ cycles, inFlight: callers });
      return answer();
    },
    async stop() {
      if (child.connected) child.disconnect();
      await ended;
    },
  };
}

function fail(name) {
  throw new Error(`The process of ${name} ended too early.`);
}

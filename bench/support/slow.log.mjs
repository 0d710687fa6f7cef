const FROM_US = 500;
const MAX_ENTRIES = 100_000;

/** Lets the server note every command and script that holds it for half a millisecond or more. */
export async function openSlowLog(client) {
  await client.config('SET', 'slowlog-log-slower-than', FROM_US, 'slowlog-max-len', MAX_ENTRIES);
}

/** The longest, in milliseconds, that one command or script held the server while some work was done; 0 for under half of one. */
export async function longestOf(client, work) {
  await client.slowlog('RESET');
  await work();
  const slow = await client.slowlog('GET', MAX_ENTRIES);
  return Math.max(0, ...slow.map(([, , us]) => us)) / 1_000;
}

/** For a cell. */
export function describeLongest(ms) {
  return ms === 0 ? `under ${FROM_US / 1_000}` : ms;
}

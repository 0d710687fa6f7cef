/** The middle one of some numbers: a round that something else on the machine slowed down does not move it. */
export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * Measures several things in turn, so that each of them meets the same noise, the first one being another each round.
 *
 * @param contestants name -> a function that measures once and resolves to a number
 * @returns name -> the numbers, one a round
 */
export async function interleave(contestants, rounds) {
  const names = Object.keys(contestants);
  const results = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (let n = 0; n < names.length; n++) {
      const name = names[(round + n) % names.length];
      results[name].push(await contestants[name]());
    }
  }
  return results;
}

/** The ratios within each round: their median, and the span of their middle half as a text. */
export function ratios(numbers, base) {
  const sorted = numbers.map((number, round) => number / base[round]).sort((a, b) => a - b);
  const quarter = Math.floor(sorted.length / 4);
  const span = `${sorted[quarter].toFixed(2)} to ${sorted[sorted.length - 1 - quarter].toFixed(2)}`;
  return { ratio: median(sorted), span };
}

/** Milliseconds that a function takes. */
export async function elapsed(work) {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** Microseconds a call, with so many calls in flight at any time. */
export async function microsecondsPerCall(call, calls, inFlight = 1) {
  let left = calls;
  const one = async () => {
    while (left-- > 0) await call();
  };
  const ms = await elapsed(() => Promise.all(Array.from({ length: inFlight }, one)));
  return (ms * 1_000) / calls;
}

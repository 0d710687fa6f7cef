/** The middle one of some numbers: a round that something else on the machine slowed down does not move it. */
export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

const WARM_UP_ROUNDS = 3;

/**
 * Measures several things in turn, so that each of them meets the same noise, the first one being another each round. The
 * first rounds, in which Node compiles, do not count.
 *
 * @param contestants name -> a function that measures once and resolves to what it found
 * @returns name -> what was found, one a round
 */
export async function interleave(contestants, rounds) {
  const names = Object.keys(contestants);
  const results = Object.fromEntries(names.map((name) => [name, []]));
  const warmUps = Math.min(WARM_UP_ROUNDS, rounds);
  for (let round = -warmUps; round < rounds; round++) {
    for (let n = 0; n < names.length; n++) {
      const name = names[(round + warmUps + n) % names.length];
      const found = await contestants[name]();
      if (round >= 0) results[name].push(found);
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

/** How many a second, from the microseconds of one in each round. */
export function perSecond(microseconds) {
  return Math.round(1_000_000 / median(microseconds));
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

let lastSecond = Number.NaN;
let untilSecond = '';

/** A time in ISO 8601, in UTC with milliseconds, as `Date` writes it; of one second after the other it is cheaper. */
export function isoTime(ms: number): string {
  const second = Math.floor(ms / 1_000);
  if (second !== lastSecond) {
    untilSecond = new Date(second * 1_000).toISOString().slice(0, -4);
    lastSecond = second;
  }
  return `${untilSecond}${String(ms - second * 1_000).padStart(3, '0')}Z`;
}

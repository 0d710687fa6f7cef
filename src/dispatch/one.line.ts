/** A text from elsewhere as a part of one line: short, and without anything that could pass for something else in a log. */
export function oneLine(text: string, mostLength: number): string {
  const line = text.replace(/[\p{Cc}\s]+/gu, ' ').trim();
  const short = line.length > mostLength ? `${line.slice(0, mostLength)}…` : line;
  // Half a pair, which the cut may have left, is no character, and cannot be told to Redis.
  return short.replace(/\p{Cs}/gu, '');
}

/** Keeps what is logged, for a test to look at. */
export class RecordingLogger {
  readonly lines: string[] = [];

  readonly log = (line: string): void => void this.lines.push(line);
  readonly warn = (line: string): void => void this.lines.push(line);
  readonly error = (line: string): void => void this.lines.push(line);

  matching(pattern: RegExp): string[] {
    return this.lines.filter((line) => pattern.test(line));
  }
}

import { parse } from 'csv-parse/sync';

/** One row of a CSV. */
export interface CsvRecord {
  /** Of its first line, from 1. */
  line: number;
  /** Undefined where the row's quotes are wrong. */
  cells: string[] | undefined;
}

/** Lines that one row may take. A quote that is still open then was never meant to be closed, and spoils its own line only. */
const MAX_LINES = 20;
const DELIMITERS = [',', ';', '\t'] as const;
/** A column that is named `#` is not a comment. */
const COMMENT = /^#(?![,;\t])/;

/** The rows of a CSV, the header first; blank lines and `#` comments are skipped. The header shows the delimiter. */
export function* csvRecords(source: string): Generator<CsvRecord> {
  const text = source.replace(/\r\n?/g, '\n');
  let delimiter: string | undefined;
  let line = 1;
  for (let start = 0; start < text.length;) {
    const first = text.slice(start, lineEnd(text, start));
    if (first.trim() === '' || COMMENT.test(first)) {
      start += first.length + 1;
      line++;
      continue;
    }
    delimiter ??= delimiterOf(first);
    const { record, cells } = readRecord(text, start, first, delimiter);
    yield { line, cells };
    start += record.length + 1;
    line += record.split('\n').length;
  }
}

/** The row that begins here. One that goes wrong takes only its first line with it. */
function readRecord(
  text: string,
  start: number,
  first: string,
  delimiter: string,
): { record: string; cells?: string[] } {
  if (!first.includes('"')) return { record: first, cells: first.split(delimiter).map((cell) => cell.trim()) };
  const record = text.slice(start, recordEnd(text, start));
  const cells = splitQuoted(record, delimiter);
  return cells ? { record, cells } : { record: first };
}

function splitQuoted(record: string, delimiter: string): string[] | undefined {
  try {
    return parse(record, {
      delimiter,
      record_delimiter: ['\n'],
      relax_column_count: true,
      trim: delimiter !== '\t',
    })[0];
  } catch {
    return undefined;
  }
}

/** The end of the first line at which as many quotes are closed as opened, or else of the first line. */
function recordEnd(text: string, start: number): number {
  const first = lineEnd(text, start);
  let end = first;
  let quotes = quotesIn(text, start, end);
  for (let lines = 1; quotes % 2 === 1 && lines < MAX_LINES && end < text.length; lines++) {
    const next = lineEnd(text, end + 1);
    quotes += quotesIn(text, end + 1, next);
    end = next;
  }
  return quotes % 2 === 0 ? end : first;
}

function lineEnd(text: string, start: number): number {
  const end = text.indexOf('\n', start);
  return end < 0 ? text.length : end;
}

function quotesIn(text: string, start: number, end: number): number {
  return text.slice(start, end).split('"').length - 1;
}

/** The one that the header holds most often. */
function delimiterOf(header: string): string {
  const count = (delimiter: string) => header.split(delimiter).length;
  return DELIMITERS.reduce((best, delimiter) => (count(delimiter) > count(best) ? delimiter : best));
}

import { isIP } from 'node:net';
import { ColumnsUnknownError } from '../../errors/domain.errors.js';
import { csvRecords } from './csv.records.js';
import type { ListEntry, ListOptions, ReadMember } from './member.list.js';
import { readMemberObject } from './member.object.js';
import { countryOf, type Fields, namesHost, plainName } from './proxy.fields.js';
import { readProxyFields } from './proxy.object.js';

const MAX_COLUMNS_SHOWN = 50;
const MAX_COLUMN_SHOWN = 64;

/**
 * Reads a CSV with a header row, of proxies (`host` or `ip`, `port`, ...) or of members (`id`, `value`, ...); other columns are
 * ignored. The delimiter is a comma, a semicolon or a tab.
 *
 * @throws ColumnsUnknownError when the header names neither
 */
export function* readCsvList(text: string, options: ListOptions): Generator<ListEntry> {
  let readRow: ((row: Fields) => ReadMember) | undefined;
  let names: string[] = [];
  for (const { line, cells } of csvRecords(text)) {
    if (!readRow) {
      const columns = cells ?? [''];
      names = columns.map(plainName);
      readRow = rowReader(new Set(names), columns, options);
    } else if (cells) {
      yield { line, ...readRow(rowOf(names, cells)) };
    } else {
      yield { line, reason: 'the quotes of the row are not right' };
    }
  }
}

function rowReader(
  names: ReadonlySet<string>,
  columns: readonly string[],
  options: ListOptions,
): (row: Fields) => ReadMember {
  if (namesHost(names)) return (row) => readProxyFields(row, options);
  if (names.has('id') || names.has('value')) return (row) => readMemberObject(memberOf(row), options);
  throw new ColumnsUnknownError(shownColumns(columns));
}

/** The cells that are not empty, by the plain name of their column; of columns of one name the first that is filled counts. */
function rowOf(names: readonly string[], cells: readonly string[]): Fields {
  const row = new Map<string, string>();
  cells.forEach((cell, index) => {
    const name = names[index];
    if (name !== undefined && cell !== '' && !row.has(name)) row.set(name, cell);
  });
  return row;
}

function memberOf(row: Fields): Record<string, unknown> {
  const member: Record<string, unknown> = {};
  for (const name of ['id', 'value', 'weight', 'capacity']) {
    const cell = row.get(name);
    if (cell !== undefined) member[name] = name === 'weight' || name === 'capacity' ? numberOf(cell) : cell;
  }
  const country = countryOf(row);
  return country === undefined ? member : { ...member, labels: { country } };
}

/** A whole number as a number; anything else stays for the schema to refuse. */
function numberOf(cell: unknown): unknown {
  return typeof cell === 'string' && /^\d+$/.test(cell) ? Number(cell) : cell;
}

/** The header as an error may show it: where it holds a number or an address it is data, which may be secret. */
function shownColumns(columns: readonly string[]): string[] {
  const isData = columns.some((column) => /^\d+$/.test(column) || isIP(column) !== 0 || /[:@]/.test(column));
  return columns
    .slice(0, MAX_COLUMNS_SHOWN)
    .map((column) => (isData || column === '' ? '(no name)' : column.slice(0, MAX_COLUMN_SHOWN)));
}

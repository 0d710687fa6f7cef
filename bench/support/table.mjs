/**
 * Prints a table as wide as it needs to be; columns without numbers stand to the left, and those without anything not at all.
 *
 * @param table its title, and its rows: objects whose keys name the columns; what is absent or '' leaves its cell empty
 */
export function printTable({ title, rows }) {
  console.log(`\n${title}\n`);
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const columns = names.map((name) => toColumn(name, rows)).filter(({ isEmpty }) => !isEmpty);
  const line = (cellOf) => console.log(columns.map(cellOf).join('  ').trimEnd());
  line(({ name, pad }) => pad(name));
  line(({ width }) => '-'.repeat(width));
  rows.forEach((_, n) => line(({ cells, pad }) => pad(cells[n])));
}

function toColumn(name, rows) {
  const values = rows.map((row) => row[name] ?? '');
  const numbers = values.filter((value) => typeof value === 'number');
  const isWhole = numbers.every(Number.isInteger);
  const cells = values.map((value) => (typeof value === 'number' ? format(value, isWhole) : value));
  const width = Math.max(name.length, ...cells.map((cell) => cell.length));
  const pad = (cell) => (numbers.length > 0 ? cell.padStart(width) : cell.padEnd(width));
  return { name, cells, width, pad, isEmpty: cells.every((cell) => cell === '') };
}

/** Whole numbers in full, others with three digits that count. */
function format(value, isWhole) {
  const size = Math.abs(value);
  if (isWhole || size >= 100) return Math.round(value).toLocaleString('en');
  if (size >= 10) return value.toFixed(1);
  return value.toFixed(size >= 1 || size === 0 ? 2 : 3);
}

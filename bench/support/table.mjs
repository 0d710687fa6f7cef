/** Prints rows under a title, as wide as they need to be. */
export function printTable(title, head, rows) {
  const cells = [head, ...rows].map((row) => row.map(String));
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column].length)));
  const line = (row) => row.map((cell, n) => (n === 0 ? cell.padEnd(widths[n]) : cell.padStart(widths[n]))).join('  ');
  console.log(`\n${title}\n`);
  console.log(line(cells[0]));
  console.log(widths.map((width) => '-'.repeat(width)).join('  '));
  for (const row of cells.slice(1)) console.log(line(row));
}

/** Says whether a number keeps to its bound. */
export function verdict(value, bound) {
  return value <= bound ? `<= ${bound}: met` : `<= ${bound}: MISSED`;
}

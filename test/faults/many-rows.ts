/**
 * As many rows as there are to be, from the one numbered `from`, made of those that a payout file has: each with a reference
 * and an amount of its own, so that none is a likely duplicate.
 */
export function manyRows(file: string, rows: number, { name, from = 0 }: { name: string; from?: number }): string {
  const [header = '', ...lines] = file.trim().split('\n');
  const columns = header.split(',');
  const [reference, amount] = [columns.indexOf('reference'), columns.indexOf('amount')];
  const made = Array.from({ length: rows }, (_, index) => {
    const number = from + index;
    const cells = (lines[number % lines.length] ?? '').split(',');
    const [whole = '', ...cents] = (cells[amount] ?? '').split('.');
    cells[reference] = `${name}-${number}`;
    cells[amount] = [BigInt(whole) + BigInt(Math.floor(number / lines.length)), ...cents].join('.');
    return cells.join(',');
  });
  return `${[header, ...made].join('\n')}\n`;
}

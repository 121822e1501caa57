/** The value in the middle, or the place that `share` (0 to 1) names; NaN of none. */
export function quantile(values: readonly number[], share = 0.5): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** `median (lowest to highest)`, for a person to read. */
export function spread(values: readonly number[], digits = 0): string {
  const text = (value: number): string =>
    value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${text(quantile(values))} (${text(Math.min(...values))} to ${text(Math.max(...values))})`;
}

/** A table as markdown has it. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return `${lines.join('\n')}\n`;
}

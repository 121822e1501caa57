/** The address of a list: its path, and what it is narrowed down to. What is absent or empty is left out. */
export function hrefWith(path: string, fields: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(fields).flatMap(([name, value]) => (value ? [[name, String(value)]] : []));
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}

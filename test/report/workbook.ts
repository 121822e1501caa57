import { readXlsx } from 'hucre/xlsx';

/** The bytes that pieces make together. */
export async function bytesOf(pieces: AsyncIterable<Buffer | string>): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const piece of pieces) all.push(Buffer.from(piece));
  return Buffer.concat(all);
}

/** The sheets of a workbook by name, in the order in which they are shown, as another reader than ours has them; rows without the empty cells at their ends. */
export async function sheetsOf(bytes: Buffer): Promise<Map<string, unknown[][]>> {
  const { sheets } = await readXlsx(new Uint8Array(bytes));
  return new Map(
    sheets.map(({ name, rows }) => [
      name,
      rows.map((row) => row.slice(0, row.findLastIndex((cell) => cell !== null) + 1)),
    ]),
  );
}

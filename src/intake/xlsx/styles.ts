import { type NumberFormat, readNumberFormat } from './number-format.ts';
import { isSpreadsheet, readPart } from './parts.ts';
import { damaged, type Zip } from './zip.ts';

/** What each way of showing a number is, by the style of a cell. Throws a DamageError for a style that is not there. */
export type FormatOf = (style: number) => NumberFormat;

const DATE = 'yyyy';
/** Spreadsheets take fewer. */
const STYLES_MAX = 65_536;
/**
 * Formats that have a number in place of a code (ISO/IEC 29500-1, 18.8.30, those of East Asian and Thai editions included),
 * and those of money, whose sign is that of whoever looks: 5 to 8 and 41 to 44.
 */
const BUILT_IN: readonly (readonly [first: number, last: number, code: string])[] = [
  [0, 0, 'General'],
  [1, 1, '0'],
  [2, 2, '0.00'],
  [3, 3, '#,##0'],
  [4, 4, '#,##0.00'],
  [5, 6, '#,##0'],
  [7, 8, '#,##0.00'],
  [9, 9, '0%'],
  [10, 10, '0.00%'],
  [11, 11, '0.00E+00'],
  [12, 12, '# ?/?'],
  [13, 13, '# ??/??'],
  [14, 22, DATE],
  [27, 36, DATE],
  [37, 38, '#,##0'],
  [39, 40, '#,##0.00'],
  [41, 42, '#,##0'],
  [43, 44, '#,##0.00'],
  [45, 47, DATE],
  [48, 48, '##0.0E+0'],
  [49, 49, '@'],
  [50, 58, DATE],
  [59, 59, '0'],
  [60, 60, '0.00'],
  [61, 61, '#,##0'],
  [62, 62, '#,##0.00'],
  [67, 67, '0%'],
  [68, 68, '0.00%'],
  [69, 69, '# ?/?'],
  [70, 70, '# ??/??'],
  [71, 81, DATE],
];

/** The formats of a workbook's cells. One without a part for its styles, or with an empty one, has a single plain style. */
export async function readFormats(zip: Zip, part: string | undefined): Promise<FormatOf> {
  const codes = new Map<number, string>();
  const styles: number[] = [];
  if (part !== undefined) {
    const path: string[] = [];
    await readPart(zip, part, {
      open(element) {
        path.push(isSpreadsheet(element) ? element.local : '');
        const id = Number(element.attribute('numFmtId') ?? '0');
        if (path.at(-1) === 'numFmt') codes.set(id, element.attribute('formatCode') ?? '');
        if (path.at(-1) === 'xf' && path.at(-2) === 'cellXfs') styles.push(id);
        if (Math.max(codes.size, styles.length) > STYLES_MAX) throw damaged('it has far too many styles');
      },
      text() {},
      close: () => void path.pop(),
    });
  }
  if (styles.length === 0) styles.push(0);
  const formats = new Map<number, NumberFormat>();
  return (style) => {
    const id = styles[style];
    if (id === undefined) throw damaged('a cell has a style that is not there');
    const code = codes.get(id) ?? builtIn(id);
    if (code === undefined) throw damaged('a cell has a number format that is not there');
    const format = formats.get(id) ?? readNumberFormat(code);
    formats.set(id, format);
    return format;
  };
}

function builtIn(id: number): string | undefined {
  return BUILT_IN.find(([first, last]) => id >= first && id <= last)?.[2];
}

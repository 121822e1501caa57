import type { ProblemCode } from '../problems.ts';
import { isSpreadsheet, readPart } from './parts.ts';
import type { Zip } from './zip.ts';

/** Built-in formats of dates and times (ISO/IEC 29500-1, 18.8.30), those of East Asian editions included. */
const DATES: readonly (readonly [first: number, last: number])[] = [
  [14, 22],
  [27, 36],
  [45, 47],
  [50, 58],
];
const BUILT_IN_PERCENT: ReadonlySet<number> = new Set([9, 10]);

/** Text within a format: in quotes, in brackets (colours, conditions, locales) and after a backslash, `_` or `*`. */
const LITERAL = /"[^"]*"|\[(?!h+\]|m+\]|s+\])[^\]]*\]|[\\_*]./gi;
/** Digits that are text, and stand beside those of the number or in their place. */
const LITERAL_DIGITS = /"[^"]*[0-9][^"]*"|\\[0-9]/;
const DATE_LETTER = /[dmyhsaeg]/i;
/** Zeros that fill up a number at its head, a percent sign, thousands that are left out. */
const OTHER_DIGITS = /%|^0{2,}|(?<=[0#?]),+(?![0#?,])/;

/** What is wrong with a number that is shown in a format: it is a date, or its digits are shown as others. */
export async function readNumberFaults(
  zip: Zip,
  part: string | undefined,
): Promise<(style: number) => ProblemCode | undefined> {
  const formats = new Map<number, string>();
  const styles: number[] = [];
  if (part !== undefined) {
    const path: string[] = [];
    await readPart(zip, part, {
      open(element) {
        path.push(isSpreadsheet(element) ? element.local : '');
        const id = Number(element.attribute('numFmtId') ?? '0');
        if (path.at(-1) === 'numFmt') formats.set(id, element.attribute('formatCode') ?? '');
        if (path.at(-1) === 'xf' && path.at(-2) === 'cellXfs') styles.push(id);
      },
      text() {},
      close: () => void path.pop(),
    });
  }
  const faults = styles.map((id) => faultOf(id, formats.get(id)));
  return (style) => faults[style];
}

function faultOf(id: number, code: string | undefined): ProblemCode | undefined {
  if (code === undefined) {
    if (DATES.some(([first, last]) => id >= first && id <= last)) return 'E_DATE';
    return BUILT_IN_PERCENT.has(id) ? 'E_NUMBER_FORMAT' : undefined;
  }
  return faultOfFormat(code);
}

/** The same for a format of the workbook's own, such as `dd.mm.yyyy` or `00000`. */
export function faultOfFormat(code: string): ProblemCode | undefined {
  const plain = code.replace(LITERAL, '');
  if (/^general$/i.test(plain)) return undefined;
  if (DATE_LETTER.test(plain.replaceAll(/general|e[+-]/gi, ''))) return 'E_DATE';
  const sections = plain.split(';');
  const isShown = /[0#?@]|general/i.test(sections[0] ?? '');
  return !isShown || LITERAL_DIGITS.test(code) || sections.some((section) => OTHER_DIGITS.test(section))
    ? 'E_NUMBER_FORMAT'
    : undefined;
}

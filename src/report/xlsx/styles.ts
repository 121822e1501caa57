/** Decimals of a number that have a format of their own. */
export const DIGITS_MAX = 15;

/** The styles of cells by their place in `stylesXml`. */
export const STYLES = {
  text: 1,
  head: 2,
  time: 3,
  /** A number that is shown with so many digits behind the point. */
  decimal: (digits: number): number => 4 + digits,
} as const;

/** The first number of a format that is not built in. */
const OWN_FORMATS = 164;
/** The built-in format of text. */
const TEXT_FORMAT = 49;
const TIME_FORMAT = 'yyyy\\-mm\\-dd&quot;T&quot;hh:mm:ss.000&quot;Z&quot;';
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';

/**
 * The part of a workbook that says how cells look (ISO/IEC 29500-1, 18.8). A text stays text when somebody opens its cell
 * and closes it again, so that what looks like a formula never becomes one.
 */
export function stylesXml(): string {
  const decimals = Array.from({ length: DIGITS_MAX + 1 }, (_, digits) =>
    digits === 0 ? '0' : `0.${'0'.repeat(digits)}`,
  );
  const formats = [TIME_FORMAT, ...decimals];
  const numFmts = formats.map((code, at) => `<numFmt numFmtId="${OWN_FORMATS + at}" formatCode="${code}"/>`).join('');
  const styles = [
    style(0, 0),
    style(TEXT_FORMAT, 0, ' quotePrefix="1"'),
    style(TEXT_FORMAT, 1),
    ...formats.map((_, at) => style(OWN_FORMATS + at, 0)),
  ];
  return (
    `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<styleSheet xmlns="${MAIN}">` +
    `<numFmts count="${formats.length}">${numFmts}</numFmts>` +
    '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts>' +
    '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>' +
    '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>' +
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>' +
    `<cellXfs count="${styles.length}">${styles.join('')}</cellXfs>` +
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
  );
}

function style(format: number, font: number, more = ''): string {
  return `<xf numFmtId="${format}" fontId="${font}" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" applyFont="1"${more}/>`;
}

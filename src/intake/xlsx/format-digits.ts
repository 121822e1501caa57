import { withoutTrailing } from '../../trailing.ts';

/** A number of digits: 0, # and ?, commas, and marks between thousands as `_`. */
const DIGITS = /^(?<whole>[0#?,_]*)(?:\.(?<fraction>[0#?]*))?(?<exponent>E[0#?]+)?$/;
/** Groups of digits as they are written with marks that are text: of three at the end, of two or three before. */
const GROUPS = /^[^_]*(?:(?:_[^_]{2,3})*_[^_]{3})?$/;
/** A cell without a format shows so many characters of a number with a fraction, however wide it is. */
const GENERAL_CHARACTERS_MAX = 11;
const PERCENT_DIGITS = 2;
const THOUSAND_DIGITS = 3;

/** How a format writes a plain decimal that is not negative; undefined where that is no number that a person could read. */
type WriteDigits = (decimal: string) => string | undefined;

/**
 * The digits of a format, such as `#,##0.00` (`G` is General, `E` an exponent), with so many percent signs and commas for
 * left out thousands beside them.
 */
export function openDigits(
  mask: string,
  { percents, thousands }: { percents: number; thousands: number },
): WriteDigits {
  if (mask === 'G' || mask === '@') return writeGeneral;
  const { whole, fraction = '', exponent } = DIGITS.exec(mask)?.groups ?? {};
  if (whole === undefined || mask === '' || !GROUPS.test(whole.replaceAll(',', ''))) return noNumber;
  const digits = whole.replace(/[,_]/g, '');
  if (exponent !== undefined) return digits.length === 1 ? openExponent(fraction.length) : noNumber;
  const leftOut = thousands + whole.length - withoutTrailing(whole, ',').length;
  const shift = percents * PERCENT_DIGITS - leftOut * THOUSAND_DIGITS;
  return openFixed({ digits, fraction, shift });
}

function noNumber(): undefined {
  return undefined;
}

/** Zeros in the place of a digit are written where the number has none. */
function openFixed({ digits, fraction, shift }: { digits: string; fraction: string; shift: number }): WriteDigits {
  const zeros = digits.includes('0') ? digits.length - digits.indexOf('0') : 0;
  const hasZeros = zeros > 0 || fraction.includes('0');
  return (decimal) => {
    const number = rounded(decimal, { places: fraction.length, shift });
    if (!hasZeros && !/[1-9]/.test(number)) return undefined;
    const [whole = '', after] = number.split('.');
    return after === undefined ? whole.padStart(zeros, '0') : `${whole.padStart(zeros, '0')}.${after}`;
  };
}

/** With one digit before the point, and so many behind it. */
function openExponent(digits: number): WriteDigits {
  return (decimal) => rounded(decimal, { places: digits + 1 - (decimal.split('.', 1)[0] ?? '').length, shift: 0 });
}

function writeGeneral(decimal: string): string {
  const [whole = '', fraction] = decimal.split('.');
  if (fraction === undefined || decimal.length <= GENERAL_CHARACTERS_MAX) return decimal;
  return rounded(decimal, { places: Math.max(0, GENERAL_CHARACTERS_MAX - 1 - whole.length), shift: 0 });
}

/** A plain decimal times ten to the power of `shift`, rounded half up to so many places; fewer than none are tens. */
function rounded(decimal: string, { places, shift }: { places: number; shift: number }): string {
  const [whole = '', fraction = ''] = decimal.split('.');
  let scale = fraction.length - shift;
  let digits = BigInt(whole + fraction);
  if (scale > places) {
    const unit = 10n ** BigInt(scale - places);
    digits = (digits + unit / 2n) / unit;
    scale = places;
  }
  if (scale <= 0) return (digits * 10n ** BigInt(-scale)).toString();
  const text = digits.toString().padStart(scale + 1, '0');
  return `${text.slice(0, -scale)}.${text.slice(-scale)}`;
}

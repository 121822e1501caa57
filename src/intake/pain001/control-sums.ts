import { withoutTrailing } from '../../trailing.ts';
import type { Damage } from '../record.ts';

/** Counts transfers and adds up their amounts whatever their currencies, as a message's control sums do. */
export interface ControlSums {
  add(amount: string): void;
  /** What does not fit. `where` is the element that says the number and the sum, `count` and `sum` its texts. */
  judge(said: { where: string; count: string | undefined; sum: string | undefined }): Damage[];
}

/** The standard's decimals have at most 17 digits behind the point (DecimalNumber, ActiveOrHistoricCurrencyAndAmount). */
const FRACTION_DIGITS = 18;
const DECIMAL = /^([0-9]{1,18})(?:\.([0-9]{1,18}))?$/;
/** What xs:decimal of XML Schema may be beside that: with a plus sign, and with digits on one side of the point only. */
const SCHEMA_DECIMAL = /^\+?([0-9]*)(?:\.([0-9]*))?$/;

/** A number of the message as digits with a point between them; what is no number as it is. */
export function plainDecimal(text: string): string {
  const [, whole = '', fraction = ''] = SCHEMA_DECIMAL.exec(text.trim()) ?? [];
  if (whole === '' && fraction === '') return text;
  return `${whole === '' ? '0' : whole}${fraction === '' ? '' : `.${fraction}`}`;
}

export function openControlSums(): ControlSums {
  let transfers = 0;
  let unread = 0;
  let total = 0n;

  function judge({
    where,
    count,
    sum,
  }: {
    where: string;
    count: string | undefined;
    sum: string | undefined;
  }): Damage[] {
    const damage: Damage[] = [];
    const mismatch = (found: string): unknown => damage.push({ code: 'E_TOTALS', line: null, facts: { found } });
    if (count !== undefined && !(/^[0-9]{1,15}$/.test(count) && Number(count) === transfers)) {
      mismatch(`${where} has ${transfers} transfers where its NbOfTxs says ${shown(count)}`);
    }
    if (sum !== undefined && scaled(sum) !== total) {
      const others = unread === 0 ? '' : ` (not counting ${unread} that cannot be read)`;
      mismatch(`the amounts of ${where} add up to ${decimalOf(total)}${others} where its CtrlSum says ${shown(sum)}`);
    }
    return damage;
  }

  return {
    add(amount) {
      transfers++;
      const value = scaled(amount);
      if (value === undefined) unread++;
      else total += value;
    },
    judge,
  };
}

function scaled(decimal: string): bigint | undefined {
  const [, whole, fraction = ''] = DECIMAL.exec(decimal) ?? [];
  return whole === undefined ? undefined : BigInt(whole + fraction.padEnd(FRACTION_DIGITS, '0'));
}

function decimalOf(value: bigint): string {
  const digits = value.toString().padStart(FRACTION_DIGITS + 1, '0');
  const fraction = withoutTrailing(digits.slice(-FRACTION_DIGITS), '0');
  return `${digits.slice(0, -FRACTION_DIGITS)}${fraction === '' ? '' : `.${fraction}`}`;
}

function shown(text: string): string {
  return DECIMAL.test(text) ? text : 'something else than a number';
}

import { formatAmount, type Money } from '../../money.ts';

/*
 * Figures as people read them: 1,234,567.50. What programs read, CSV and the API, has them plain.
 */

/** A number of things. */
export function shownCount(count: number | bigint): string {
  return count.toLocaleString('en');
}

/** Such as `1 row` and `2 rows`. */
export function counted(count: number, one: string): string {
  return `${shownCount(count)} ${count === 1 ? one : `${one}s`}`;
}

/** An amount with its currency's digits, without the currency. */
export function shownAmount(money: Money): string {
  return shownDecimal(formatAmount(money));
}

/** A decimal with its thousands apart; a text that is none as it is. */
export function shownDecimal(text: string): string {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)([0-9]+)(\.[0-9]+)?$/.exec(text) ?? [];
  if (whole === '') return text;
  const first = whole.length % 3;
  const groups = [whole.slice(0, first), ...(whole.slice(first).match(/[0-9]{3}/g) ?? [])];
  return `${sign}${groups.filter((group) => group !== '').join(',')}${fraction}`;
}

/** A sentence in which each amount stands before its currency, such as `1000.00 EUR for a payout`. */
export function shownAmountsIn(sentence: string): string {
  return sentence.replace(/(?<![\w.,-])[0-9]+(?:\.[0-9]+)?(?= [A-Z]{3}\b)/g, shownDecimal);
}

/** How a creditor of a payment message is told: by the number of its account, or by its own id in the message. */
export const CREDITOR_KEYS = ['creditorAccount', 'creditorId'] as const;

/** Who the creditors of a payment message are at the payments service. */
export interface CreditorMap {
  readonly by: (typeof CREDITOR_KEYS)[number];
  /** Beneficiary identity by folded key; null: the creditor's id is that of the identity. */
  readonly beneficiaries: ReadonlyMap<string, string> | null;
  /** Elements that mean something to a bank and that the sender of the file does without. */
  readonly leftOut: ReadonlySet<string>;
}

/** An account as a payment message tells it. */
export interface Account {
  readonly number: string;
  readonly bic: string | undefined;
  /** The clearing system of the creditor's bank, such as CACPA, and the bank's number in it. */
  readonly clearing: string | undefined;
  readonly member: string | undefined;
  readonly branch: string | undefined;
  /** A country's own kind of numbers, such as BGNR. */
  readonly scheme: string | undefined;
}

/**
 * The key of an account in a template. An IBAN is unique in the world (ISO 13616), any other number only at its bank and in its
 * scheme: `DEUTDEFF/1234567`, `NDEASESS/BGNR/1234567`, `ROYCCAT2+CACPA:000300012/1234567`.
 */
export function accountKey(account: Account): string {
  const { number } = account;
  return isIban(foldCreditorKey(number)) ? number : [...placeOfAccount(account), escaped(number)].join('/');
}

/** What stands before the number in its key: the bank, which is empty where only a scheme is told, and the scheme. */
export function placeOfAccount({ bic, clearing, member, branch, scheme }: Omit<Account, 'number'>): string[] {
  const ofClearing = member === undefined ? '' : joined([clearing, member], ':');
  const bank = [joined([bic], ''), ofClearing, joined([branch], '')].filter((part) => part !== '').join('+');
  if (scheme === undefined) return bank === '' ? [] : [bank];
  return [bank, escaped(scheme)];
}

function joined(parts: readonly (string | undefined)[], mark: string): string {
  return parts.flatMap((part) => (part === undefined ? [] : [escaped(part)])).join(mark);
}

/** What tells the parts of a key apart stands in none of them (RFC 3986, 2.1). */
function escaped(part: string): string {
  return part.replace(/[%/+:]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Two letters, and check digits by which the whole is 1 modulo 97 (ISO 7064). */
function isIban(folded: string): boolean {
  if (!/^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$/.test(folded)) return false;
  const turned = `${folded.slice(4)}${folded.slice(0, 4)}`;
  let rest = 0;
  for (const digit of Array.from(turned, (one) => Number.parseInt(one, 36)).join(''))
    rest = (rest * 10 + Number(digit)) % 97;
  return rest === 1;
}

/** An account number or an id as they are compared: without blanks, in capital letters (ISO 13616 prints IBANs in groups). */
export function foldCreditorKey(key: string): string {
  return key.replace(/\s/gu, '').toUpperCase();
}

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

/** An account number or an id as they are compared: without blanks, in capital letters (ISO 13616 prints IBANs in groups). */
export function foldCreditorKey(key: string): string {
  return key.replace(/\s/gu, '').toUpperCase();
}

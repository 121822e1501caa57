/** How far the payments of a run were found on a statement of the account that paid them. */
export interface Reconciled {
  readonly at: number;
  /** Of the statement, in hexadecimal. */
  readonly sha256: string;
  /** Payments that a statement should show, and how many of them are wholly on it. */
  readonly payments: number;
  readonly reconciled: number;
  readonly missing: number;
  readonly different: number;
  /** Movements too many: of its payments, and those that belong to no payment of the runs that were asked for. */
  readonly extra: number;
}

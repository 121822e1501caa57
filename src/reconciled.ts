/** How far the payments of a run were found on the last statement of the account that paid them, or on several that add up. */
export interface Reconciled {
  readonly at: number;
  /** Of the statement, in hexadecimal; of several with commas between. */
  readonly sha256: string;
  /** Payments that a statement should show, and how many of them are wholly on it. */
  readonly payments: number;
  readonly reconciled: number;
  readonly missing: number;
  readonly different: number;
  /** Movements too many: of its payments, and those that belong to no payment of the runs that were asked for. */
  readonly extra: number;
}

/** What the payer calls an identity, and when the service listed it so last, in milliseconds since 1970. */
export interface ListedName {
  readonly name: string;
  readonly listedAt: number;
}

/** The names of a row's identities, as far as the service ever listed them. */
export interface RowNames {
  readonly beneficiaryName?: ListedName | null;
  readonly originatorName?: ListedName | null;
}

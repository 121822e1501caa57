/** What is known of a service before it is asked. */
export interface KnownService {
  /** What holds as far as this process was told. */
  readonly capabilities: ReadonlySet<string>;
  /** The error codes of a look-up that says "not found" (architecture.md, rule 8). */
  readonly notFoundCodes: ReadonlySet<string>;
}

/** The code of an unknown payment as it is documented. */
export const NOT_FOUND_CODE = 'USR_002';

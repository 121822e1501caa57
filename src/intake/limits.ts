/** What intake reads at most; a file beyond it is refused, never cut. */
export interface IntakeLimits {
  readonly fileBytesMax: number;
  /** Data lines, the header not counted. */
  readonly rowsMax: number;
  /** Bytes of one line of the table, its line end included (bad-input case 99). */
  readonly recordBytesMax: number;
  /** Problems kept with their text; the others are only counted. */
  readonly problemsMax: number;
}

const KIBIBYTE = 1024;
const GIGABYTE = 1_000_000_000;

export const DEFAULT_LIMITS: IntakeLimits = {
  fileBytesMax: 2 * GIGABYTE,
  rowsMax: 2_000_000,
  recordBytesMax: 64 * KIBIBYTE,
  problemsMax: 1000,
};

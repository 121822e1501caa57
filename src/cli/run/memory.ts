import { setFlagsFromString } from 'node:v8';

/**
 * Tells V8 to keep memory flat rather than to gain some percent of speed; measured in docs/performance.md, "What was learned".
 *
 * - V8 may take the rows of a file for objects that live long, by those of one piece that lived when memory was first
 *   tidied up. All rows would then pile up where it tidies up seldom: 30 to 70 MB more, in one run of four.
 * - It lets garbage grow to several times what lives before it tidies up; here to half as much.
 */
export function keepMemoryFlat(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
  setFlagsFromString('--heap-growing-percent=50');
}

import { join } from 'node:path';
import { inject } from 'vitest';

/** In the place of `src/intake/reader/reader-program.ts`: tests run the sources themselves, and a reader process what is compiled. */
export const READER_PROGRAM = join(inject('built'), 'src/intake/reader/reader.js');

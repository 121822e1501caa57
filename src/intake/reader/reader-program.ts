import { fileURLToPath } from 'node:url';

/** The program of a reader process, as it is compiled. */
export const READER_PROGRAM = fileURLToPath(new URL('./reader.js', import.meta.url));

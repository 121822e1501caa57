import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CheckedFile, checkPayoutFile } from '../../src/intake/check-file.ts';
import { parseTemplate } from '../../src/intake/template/file.ts';
import { HOSTILE_ARCHIVES } from './bombs.ts';
import type { Budget } from './budget.ts';
import { HOSTILE_CSV_FILES } from './csv-files.ts';
import { HOSTILE_MESSAGES } from './messages.ts';
import { HOSTILE_WORKBOOKS } from './workbooks.ts';

/** A file that is made to take memory or time, and the code that it is refused with. */
export interface HostileFile {
  readonly what: string;
  readonly name: string;
  readonly make: () => Buffer;
  readonly code: string;
  /** What a reader may take for it, beside the seconds that the size of any file explains. A reader that takes more dies, and the file is refused with another code. */
  readonly budget: Budget;
}

/** Of each of these files, until one needs another: half a gibibyte and a minute is what any file may take (src/intake/limits.ts). */
export const BUDGET: Budget = { seconds: 10, mebibytes: 160 };

export const HOSTILE_FILES: readonly HostileFile[] = [
  ...HOSTILE_CSV_FILES.map(([what, make, code]) => ({ what, name: 'hostile.csv', make, code })),
  ...HOSTILE_WORKBOOKS.map(([what, make, code]) => ({ what, name: 'hostile.xlsx', make, code })),
  ...HOSTILE_ARCHIVES.map(([what, name, make, code]) => ({ what, name, make, code })),
  ...HOSTILE_MESSAGES.map(([what, make]) => ({ what, name: 'hostile.xml', make, code: 'E_MESSAGE' })),
].map((file) => ({ ...file, budget: BUDGET }));

const MEBIBYTE = 1024 * 1024;

const SHARED_TEXT_BYTES_MAX = 8 * MEBIBYTE;

export function limitsOf({ seconds, mebibytes }: Budget) {
  return {
    readMemoryBytesMax: mebibytes * MEBIBYTE,
    readSecondsMax: seconds,
    sharedTextBytesMax: SHARED_TEXT_BYTES_MAX,
  };
}

const template = parseTemplate(JSON.stringify({ name: 'hostile', pain001: { creditorBy: 'creditorId' } }));

export async function checkHostile({ name, budget }: HostileFile, bytes: Buffer): Promise<CheckedFile> {
  if (Array.isArray(template)) throw new Error(template.join('\n'));
  const folder = mkdtempSync(join(tmpdir(), 'payrun-hostile-'));
  try {
    const path = join(folder, name);
    writeFileSync(path, bytes);
    return await checkPayoutFile(path, { limits: limitsOf(budget), template });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CheckedFile, checkPayoutFile } from '../../src/intake/check-file.ts';
import { parseTemplate } from '../../src/intake/template/file.ts';
import { HOSTILE_CSV_FILES } from './csv-files.ts';
import { HOSTILE_MESSAGES } from './messages.ts';
import { HOSTILE_WORKBOOKS } from './workbooks.ts';

/** A file that is made to take memory or time, and the code that it is refused with. */
export interface HostileFile {
  readonly what: string;
  readonly name: string;
  readonly make: () => Buffer;
  readonly code: string;
}

export const HOSTILE_FILES: readonly HostileFile[] = [
  ...HOSTILE_CSV_FILES.map(([what, make, code]) => ({ what, name: 'hostile.csv', make, code })),
  ...HOSTILE_WORKBOOKS.map(([what, make, code]) => ({ what, name: 'hostile.xlsx', make, code })),
  ...HOSTILE_MESSAGES.map(([what, make]) => ({ what, name: 'hostile.xml', make, code: 'E_MESSAGE' })),
];

const MEBIBYTE = 1024 * 1024;

/** A reader that took more would die, and its file be refused with another code. Seconds are those of any machine. */
const BUDGET = { readMemoryBytesMax: 320 * MEBIBYTE, readSecondsMax: 3600, sharedTextBytesMax: 8 * MEBIBYTE };

const template = parseTemplate(JSON.stringify({ name: 'hostile', pain001: { creditorBy: 'creditorId' } }));

export async function checkHostile(name: string, bytes: Buffer): Promise<CheckedFile> {
  if (Array.isArray(template)) throw new Error(template.join('\n'));
  const folder = mkdtempSync(join(tmpdir(), 'payrun-hostile-'));
  try {
    const path = join(folder, name);
    writeFileSync(path, bytes);
    return await checkPayoutFile(path, { limits: BUDGET, template });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

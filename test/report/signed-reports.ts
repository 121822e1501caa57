import type { ReportHashes } from '../../src/payout.ts';
import { writeReportFiles, writeSignatureFile } from '../../src/report/files.ts';
import { reportStatement, signatureText } from '../../src/report/signing/signature.ts';
import { openSigningKey, type SigningKey } from '../../src/report/signing/signing-key.ts';
import { type Row, RUN_ID, runOf, sourceOf } from './rows.ts';

/** A private key that is the same in every run of the tests (RFC 8410, with 32 bytes of 7 as its seed). */
export const PRIVATE_KEY = `-----BEGIN PRIVATE KEY-----
${Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, 7)]).toString('base64')}
-----END PRIVATE KEY-----
`;
export const SIGNING_KEY: SigningKey = openSigningKey(PRIVATE_KEY);

/** Writes and signs a version of a report in a folder. */
export async function writeSigned(
  folder: string,
  rows: readonly Row[],
  { version = 1, previous, key = SIGNING_KEY }: { version?: number; previous?: ReportHashes; key?: SigningKey } = {},
): Promise<ReportHashes> {
  const written = await writeReportFiles(async () => sourceOf(rows), { folder, runId: RUN_ID, version });
  const hashes = { version: written.version, ...written.sha256 };
  const { fileSha256 } = runOf(rows);
  const statement = reportStatement({ runId: RUN_ID, fileSha256, auditHead: null, hashes, previous });
  await writeSignatureFile({ folder, runId: RUN_ID, version: hashes.version }, signatureText(statement, key));
  return hashes;
}

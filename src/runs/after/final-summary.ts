import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { headText } from '../../audit/entry.ts';
import { ifThere, writeAtomically } from '../../files.ts';
import type { Run } from '../../payout.ts';
import { summaryJson } from '../../report/document.ts';
import { digestOf } from '../../report/files.ts';
import { jsonText } from '../../report/json-text.ts';
import { previousText, signatureText } from '../../report/signing/signature.ts';
import { openSigningKey } from '../../report/signing/signing-key.ts';
import { summarise } from '../../report/summary.ts';
import { readRun } from '../read-run.ts';
import { type ReportDeps, sourceOfRun } from './report.ts';

/** What stays of a run's reports when its rows go. */
export interface FinalSummary {
  /** In hexadecimal; null where rows were gone already, so that nothing could be added up. */
  readonly sha256: string | null;
  readonly isSigned: boolean;
}

/**
 * Writes `<run id>.summary.json` to the report folder: the totals, counts and hashes of a run whose rows are about to go, and
 * the hashes of each version of its report, without any row or identity id. Signed where there is a key (docs/verify.md). One
 * that is there stays.
 */
export async function writeFinalSummary(deps: ReportDeps, runId: string): Promise<FinalSummary> {
  const { reportDir: folder, signingKey } = deps.config;
  const run = await readRun(deps, runId);
  const name = `${runId}.summary.json`;
  const path = join(folder, name);
  const sha256 = (await ifThere(digestOf(path))) ?? (await writeSummary(deps, run, path));
  if (sha256 === null || signingKey === undefined) return { sha256, isSigned: false };
  const facts = {
    of: 'summary',
    run: runId,
    'payout-file': run.fileSha256,
    'audit-head': headText(await deps.ledger.audit.head()) ?? 'none',
    previous: previousText(run.reportHashes.at(-1)),
  };
  const signed = signatureText({ facts, files: [{ name, sha256 }] }, openSigningKey(signingKey));
  await writeAtomically(join(folder, `${runId}.summary.sig`), [signed]);
  return { sha256, isSigned: true };
}

async function writeSummary(deps: ReportDeps, run: Run, path: string): Promise<string | null> {
  const summary = await summarise(await sourceOfRun(deps, run));
  const read = Object.values(summary.outcomes).reduce((sum, rows) => sum + rows, 0);
  const counted = Object.values(run.counts).reduce((sum, rows) => sum + rows, 0);
  // A purge that broke off before this was written leaves less than the run has.
  if (read !== counted) return null;
  const document = { ...summaryJson(summary), reports: [], versions: run.reportHashes };
  await mkdir(deps.config.reportDir, { recursive: true, mode: 0o700 });
  await writeAtomically(path, [`${jsonText(document)}\n`]);
  return await digestOf(path);
}

import { createHash } from 'node:crypto';
import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { type AuditHead, headText, readEntry } from '../audit/entry.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { codeOf, EXIT, Refusal } from '../refusal.ts';
import { signatureText } from '../report/signature.ts';
import { openSigningKey } from '../report/signing-key.ts';
import { readRun } from './read-run.ts';

interface AuditExportDeps {
  readonly ledger: Ledger;
  readonly config: { readonly signingKey: string | undefined };
}

/** What was exported: the log, then its signature if there is a key to sign with. */
interface AuditExport {
  readonly paths: readonly string[];
  readonly entries: number;
  /** Those about the run and its payouts. */
  readonly ofRun: number;
}

/**
 * Writes `<run>.audit.log`: the audit log from the run's first entry to its end, a line each as it stands in Redis; and
 * `<run>.audit.sig`, which names its hash and its last entry. Throws a Refusal (exit 2) for a run without entries and for a
 * folder that cannot be written.
 */
export async function exportAudit(
  { ledger, config }: AuditExportDeps,
  { runId, folder }: { runId: string; folder: string },
): Promise<AuditExport> {
  await readRun({ ledger }, runId);
  const lines: string[] = [];
  let ofRun = 0;
  let head: AuditHead | undefined;
  for await (const line of ledger.audit.lines()) {
    const record = readEntry(line);
    const isOfRun = record?.target === runId || record?.target.startsWith(`${runId}-`) === true;
    if (isOfRun) ofRun++;
    if (ofRun === 0) continue;
    lines.push(line);
    head = record;
  }
  if (head === undefined) throw refuseNone(runId);
  const text = lines.map((line) => `${line}\n`).join('');
  const files = [{ name: `${runId}.audit.log`, text }];
  if (config.signingKey !== undefined) {
    const facts = { of: 'audit', run: runId, 'audit-head': headText(head) ?? 'none' };
    const hashed = [{ name: `${runId}.audit.log`, sha256: createHash('sha256').update(text).digest('hex') }];
    const signed = signatureText({ facts, files: hashed }, openSigningKey(config.signingKey));
    files.push({ name: `${runId}.audit.sig`, text: signed });
  }
  for (const file of files) await write(folder, file);
  return { paths: files.map(({ name }) => join(folder, name)), entries: lines.length, ofRun };
}

async function write(folder: string, { name, text }: { name: string; text: string }): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await using file = await open(join(folder, name), 'w', 0o600);
    await file.writeFile(text);
    await file.sync();
  } catch (cause) {
    throw new Refusal(`The export cannot be written to ${folder} (${codeOf(cause) ?? 'error'}).`, {
      exitCode: EXIT.usage,
      remedy: 'Name another folder with --output.',
      cause,
    });
  }
}

function refuseNone(runId: string): Refusal {
  return new Refusal(`The audit log has no entry about run ${runId} that can be read.`, {
    exitCode: EXIT.usage,
    remedy: 'Have the log verified first: one that does not hold proves nothing about a run.',
  });
}

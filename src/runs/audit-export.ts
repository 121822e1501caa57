import { createHash } from 'node:crypto';
import { access, constants, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { BEFORE_FIRST, headText, readEntry } from '../audit/entry.ts';
import { writeAtomically } from '../files.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { codeOf, Refusal } from '../refusal.ts';
import { signatureText } from '../report/signing/signature.ts';
import { openSigningKey } from '../report/signing/signing-key.ts';
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
 * `<run>.audit.sig`, which names its hash and its last entry. Each appears whole under its name or not at all. Throws a
 * Refusal for a run without entries and for a folder that cannot be made, else what the file system says.
 */
export async function exportAudit(
  { ledger, config }: AuditExportDeps,
  { runId, folder }: { runId: string; folder: string },
): Promise<AuditExport> {
  await readRun({ ledger }, runId);
  await makeFolder(folder);
  const name = `${runId}.audit.log`;
  const part = openPart(ledger, runId);
  const paths = [join(folder, name)];
  await writeAtomically(join(folder, name), part.lines());
  const { sha256, head, entries, ofRun } = part.result();
  if (config.signingKey !== undefined) {
    const facts = { of: 'audit', run: runId, 'audit-head': headText(head) ?? 'none' };
    const signed = signatureText({ facts, files: [{ name, sha256 }] }, openSigningKey(config.signingKey));
    paths.push(join(folder, `${runId}.audit.sig`));
    await writeAtomically(join(folder, `${runId}.audit.sig`), Readable.from([signed]));
  }
  return { paths, entries, ofRun };
}

/** The log's lines from the run's first entry on, counted and hashed while they are taken. */
function openPart({ audit }: Pick<Ledger, 'audit'>, runId: string) {
  const digest = createHash('sha256');
  let head = BEFORE_FIRST;
  let entries = 0;
  let ofRun = 0;
  return {
    async *lines(): AsyncGenerator<string, void> {
      for await (const line of audit.lines()) {
        const record = readEntry(line);
        if (record?.target === runId || record?.target.startsWith(`${runId}-`) === true) ofRun++;
        if (ofRun === 0) continue;
        entries++;
        head = record ?? head;
        digest.update(`${line}\n`);
        yield `${line}\n`;
      }
      if (ofRun === 0) throw refuseNone(runId);
    },
    result: () => ({ sha256: digest.digest('hex'), head, entries, ofRun }),
  };
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await access(folder, constants.W_OK);
  } catch (cause) {
    throw new Refusal(
      `The export cannot be written to ${folder} (${codeOf(cause) ?? 'error'}).`,
      'Name another folder with --output.',
      { cause },
    );
  }
}

function refuseNone(runId: string): Refusal {
  return new Refusal(
    `The audit log has no entry about run ${runId} that can be read.`,
    'Have the log verified first: one that does not hold proves nothing about a run.',
  );
}

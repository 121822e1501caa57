import { z } from 'zod';
import type { App } from '../../app.ts';
import { type AuditRecord, headText, readEntry } from '../../audit/entry.ts';
import { type AuditVerdict, parseHead, verifyAudit } from '../../audit/verify.ts';
import { rfc3339 } from '../../clock.ts';
import { exportAudit } from '../../runs/audit-export.ts';
import { runsForAudit } from '../../runs/safety/sealed-runs.ts';
import { columnsLine } from '../columns.ts';
import { command } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { ledgerCommand } from '../ledger-command.ts';
import { jsonLines, print, printAll, printJson, printTexts, safeText, say } from '../print.ts';

const HEADER = ['entry', 'time', 'who', 'did', 'to', 'details'];
/** What the cells mostly take: a time has 24 characters, a payout's id about as many. */
const WIDTHS = [5, 24, 16, 24, 24, 0];

const knownHead = z
  .string()
  .transform(parseHead)
  .refine((known) => known !== undefined, 'must be NUMBER:HASH as a report prints it, or the hash alone');

const verifyCommand = ledgerCommand(
  'verify',
  {
    about: 'prove that no entry was changed, removed, added or reordered; exit 1 and the place if one was',
    options: {
      head: ['<head>', 'an entry that must be in it: "audit log" in a report made earlier', knownHead.optional()],
      codedFrom: [
        '<number>',
        "the entry from which on each has to carry a code of the ledger's key",
        z.coerce.number('must be the number of an entry').int().positive().optional(),
      ],
      json: 'print the verdict as JSON',
    },
    help:
      'Only a head that you kept elsewhere, or the copy in the data directory, shows whether the end of the log was cut off.' +
      "\nWith the ledger's key (PAYRUN_LEDGER_KEY_FILE, or the client secret) the codes of the entries are compared too.",
    examples: ['payrun audit verify --head 12:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
  },
  async ({ ledger }, { head: known = null, codedFrom = null, json }) => {
    const verdict = await verifyAudit(ledger.audit, { known, codedFrom, ...(await runsForAudit(ledger)) });
    return tell(verdict, { json, hasKey: ledger.audit.keys !== undefined });
  },
);

const listCommand = ledgerCommand(
  'list',
  {
    about: 'list the entries, the oldest first',
    options: {
      run: ['<run>', 'only those about this run and its payouts', z.string().min(1).optional()],
      json: 'print an array as JSON',
    },
    examples: ['payrun audit list --run 20260131-k3f9xq'],
  },
  async (app, { run, json }) => {
    const records = entriesAbout(app, run);
    await (json ? printAll(jsonLines(documentsOf(records))) : printTexts(textLines(records)));
  },
);

const exportCommand = ledgerCommand(
  'export',
  {
    about: "write one run's entries, in the part of the chain that they stand in, and sign it",
    takes: { '<run>': 'the run' },
    options: {
      output: ['<folder>', 'where the files go (default: here)', z.string().min(1, 'must name a folder').default('.')],
    },
    help:
      "RUN.audit.log has every entry from the run's first one to the end: a hash proves an entry only with those before it." +
      '\nWith a signing key RUN.audit.sig lies beside it, for "payrun verify".',
    examples: ['payrun audit export 20260131-k3f9xq --output reports'],
  },
  async (app, { run: runId, output: folder }) => {
    const { paths, entries, ofRun } = await exportAudit(app, { runId, folder });
    print(safeText(paths.join('\n')));
    say(`${ofRun} entries are about the run, of ${entries} in this part of the chain.`);
    if (paths.length === 1) say('It is not signed: there is no signing key ("payrun key sign-init").');
  },
);

/** `payrun audit`: the log of what people did. */
export const auditCommand = command('audit', {
  examples: ['payrun audit verify', 'payrun audit list --run 20260131-k3f9xq', 'payrun audit export 20260131-k3f9xq'],
  parts: [verifyCommand, listCommand, exportCommand],
});

function tell(
  { entries, head, findings, uncopied, coded }: AuditVerdict,
  { json, hasKey }: { json: boolean; hasKey: boolean },
): ExitCode {
  const holds = findings.length === 0;
  if (json) printJson({ holds, entries, head: headText(head), coded, uncopied, findings });
  else {
    const verdict = holds ? 'The audit log holds' : 'THE AUDIT LOG DOES NOT HOLD';
    print(`${verdict}: ${entries} entries, proven up to ${headText(head) ?? 'none'}`);
    for (const { message } of findings) print(safeText(`  ${message}`));
    if (entries > 0) say(codedText(coded, hasKey));
  }
  if (uncopied > 0) say(`${uncopied} entries have no copy in the data directory yet; it follows with the next entry.`);
  return holds ? EXIT.ok : EXIT.defect;
}

/** What the codes prove, and what they do not. */
function codedText(coded: AuditVerdict['coded'], hasKey: boolean): string {
  if (!hasKey) return 'The codes of the entries were not compared: this process has no key of the ledger.';
  if (coded === null)
    return "No entry carries a code of the ledger's key: whoever can write to Redis can have written all of them.";
  const before = coded.from > 1 ? `; those before entry ${coded.from} carry none` : '';
  return `${coded.entries} entries carry a code of the ledger's key${before}.`;
}

async function* entriesAbout(app: App, run: string | undefined): AsyncGenerator<AuditRecord, void> {
  let place = 0;
  for await (const line of app.ledger.audit.lines()) {
    place++;
    const record = readEntry(line);
    if (record === undefined) say(`The entry in place ${place} was changed: see "payrun audit verify".`);
    else if (run === undefined || record.target === run || record.target.startsWith(`${run}-`)) yield record;
  }
}

async function* documentsOf(records: AsyncIterable<AuditRecord>): AsyncGenerator<object, void> {
  for await (const { at, ...record } of records) yield { ...record, at: rfc3339(at) };
}

async function* textLines(records: AsyncIterable<AuditRecord>): AsyncGenerator<string, void> {
  yield `${columnsLine(HEADER, { widths: WIDTHS })}\n`;
  for await (const { number, at, actor, action, target, details } of records) {
    const told = Object.entries(details).map(([name, value]) => `${name}=${value}`);
    const cells = [String(number), rfc3339(at), actor, action, target, told.join(' ')];
    yield `${columnsLine(cells, { widths: WIDTHS })}\n`;
  }
}

import { Command } from 'commander';
import { z } from 'zod';
import type { App } from '../../app.ts';
import { type AuditRecord, headText, readEntry } from '../../audit/entry.ts';
import { type AuditVerdict, parseHead, verifyAudit } from '../../audit/verify.ts';
import { rfc3339 } from '../../clock.ts';
import { EXIT, type ExitCode } from '../../refusal.ts';
import { jsonText } from '../../report/json-text.ts';
import { exportAudit } from '../../runs/audit-export.ts';
import { columnsLine } from '../columns.ts';
import { withLedger } from '../open.ts';
import { parseOptions } from '../options.ts';
import { print, printAll, printJson, safeText, say } from '../print.ts';

const verifySchema = z.object({
  head: z
    .string()
    .transform(parseHead)
    .refine((head) => head !== undefined, 'must be NUMBER:HASH as a report prints it, or the hash alone')
    .optional(),
  codedFrom: z.coerce.number('must be the number of an entry').int().positive().optional(),
  json: z.boolean(),
});
const exportSchema = z.object({ output: z.string().min(1, 'must name a folder').default('.') });
const listSchema = z.object({ run: z.string().min(1).optional(), json: z.boolean() });

const HEADER = ['entry', 'time', 'who', 'did', 'to', 'details'];
/** What the cells mostly take: a time has 24 characters, a payout's id about as many. */
const WIDTHS = [5, 24, 16, 24, 24, 0];

/** `payrun audit`: the log of what people did. */
export function auditCommand(end: (code: ExitCode) => void): Command {
  return new Command('audit')
    .addHelpText(
      'after',
      '\nExamples:\n  payrun audit verify\n  payrun audit list --run 20260131-k3f9xq\n  payrun audit export 20260131-k3f9xq',
    )
    .addCommand(verifyCommand(end))
    .addCommand(listCommand(end))
    .addCommand(exportCommand(end));
}

function verifyCommand(end: (code: ExitCode) => void): Command {
  return new Command('verify')
    .description('prove that no entry was changed, removed, added or reordered; exit 1 and the place if one was')
    .option('--head <head>', 'an entry that must be in it: "audit log" in a report made earlier')
    .option('--coded-from <number>', "the entry from which on each has to carry a code of the ledger's key")
    .option('--json', 'print the verdict as JSON', false)
    .addHelpText(
      'after',
      '\nOnly a head that you kept elsewhere, or the copy in the data directory, shows whether the end of the log was cut off.' +
        "\nWith the ledger's key (PAYRUN_LEDGER_KEY_FILE, or the client secret) the codes of the entries are compared too." +
        '\n\nExample:\n  payrun audit verify --head 12:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    )
    .action(async (raw: unknown) => {
      const { head, codedFrom, json } = parseOptions(verifySchema, raw);
      end(
        await withLedger(async ({ ledger }) => {
          const hasRuns = (await ledger.runs.list()).length > 0;
          const knowing = { known: head ?? null, hasRuns, codedFrom: codedFrom ?? null };
          return tell(await verifyAudit(ledger.audit, knowing), { json, hasKey: ledger.audit.keys !== undefined });
        }),
      );
    });
}

function listCommand(end: (code: ExitCode) => void): Command {
  return new Command('list')
    .description('list the entries, the oldest first')
    .option('--run <run>', 'only those about this run and its payouts')
    .option('--json', 'print an array as JSON', false)
    .addHelpText('after', '\nExample:\n  payrun audit list --run 20260131-k3f9xq')
    .action(async (raw: unknown) => {
      const { run, json } = parseOptions(listSchema, raw);
      end(await withLedger((app) => listEntries(app, { run, json })));
    });
}

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

function exportCommand(end: (code: ExitCode) => void): Command {
  return new Command('export')
    .description("write one run's entries, in the part of the chain that they stand in, and sign it")
    .argument('<run>', 'the run')
    .option('--output <folder>', 'where the files go (default: here)')
    .addHelpText(
      'after',
      "\nRUN.audit.log has every entry from the run's first one to the end: a hash proves an entry only with those before it." +
        '\nWith a signing key RUN.audit.sig lies beside it, for "payrun verify".' +
        '\n\nExample:\n  payrun audit export 20260131-k3f9xq --output reports',
    )
    .action(async (runId: string, raw: unknown) => {
      const { output } = parseOptions(exportSchema, raw);
      end(
        await withLedger(async (app) => {
          const { paths, entries, ofRun } = await exportAudit(app, { runId, folder: output });
          print(safeText(paths.join('\n')));
          say(`${ofRun} entries are about the run, of ${entries} in this part of the chain.`);
          if (paths.length === 1) say('It is not signed: there is no signing key ("payrun key sign-init").');
          return EXIT.ok;
        }),
      );
    });
}

async function listEntries(app: App, { run, json }: { run: string | undefined; json: boolean }): Promise<ExitCode> {
  const records = entriesAbout(app, run);
  await printAll(json ? jsonLines(records) : textLines(records));
  return EXIT.ok;
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

async function* jsonLines(records: AsyncIterable<AuditRecord>): AsyncGenerator<string, void> {
  let before = '[';
  for await (const { at, ...record } of records) {
    yield `${before}\n${jsonText({ ...record, at: rfc3339(at) })}`;
    before = ',';
  }
  yield before === '[' ? '[]\n' : '\n]\n';
}

async function* textLines(records: AsyncIterable<AuditRecord>): AsyncGenerator<string, void> {
  yield `${columnsLine(HEADER, { widths: WIDTHS })}\n`;
  for await (const { number, at, actor, action, target, details } of records) {
    const told = Object.entries(details).map(([name, value]) => `${name}=${value}`);
    const cells = [String(number), rfc3339(at), actor, action, target, told.join(' ')];
    yield `${columnsLine(cells, { widths: WIDTHS })}\n`;
  }
}

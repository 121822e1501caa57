import { Command } from 'commander';
import { z } from 'zod';
import type { App } from '../../app.ts';
import { type AuditRecord, headText, readEntry } from '../../audit/entry.ts';
import { type AuditVerdict, parseHead, verifyAudit } from '../../audit/verify.ts';
import { rfc3339 } from '../../clock.ts';
import { EXIT, type ExitCode } from '../../refusal.ts';
import { jsonText } from '../../report/json-text.ts';
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
  json: z.boolean(),
});
const listSchema = z.object({ run: z.string().min(1).optional(), json: z.boolean() });

const HEADER = ['entry', 'time', 'who', 'did', 'to', 'details'];
/** What the cells mostly take: a time has 24 characters, a payout's id about as many. */
const WIDTHS = [5, 24, 16, 24, 24, 0];

/** `payrun audit`: the log of what people did (design 6). */
export function auditCommand(end: (code: ExitCode) => void): Command {
  return new Command('audit')
    .addHelpText('after', '\nExamples:\n  payrun audit verify\n  payrun audit list --run 20260131-k3f9xq')
    .addCommand(verifyCommand(end))
    .addCommand(listCommand(end));
}

function verifyCommand(end: (code: ExitCode) => void): Command {
  return new Command('verify')
    .description('prove that no entry was changed, removed, added or reordered; exit 1 and the place if one was')
    .option('--head <head>', 'an entry that must be in it: "audit log" in a report made earlier')
    .option('--json', 'print the verdict as JSON', false)
    .addHelpText(
      'after',
      "\nOnly a head that was kept elsewhere, or the copy in the data directory, tells that the log's end was cut off." +
        '\n\nExample:\n  payrun audit verify --head 12:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    )
    .action(async (raw: unknown) => {
      const { head, json } = parseOptions(verifySchema, raw);
      end(
        await withLedger(async ({ ledger }) => {
          const hasRuns = (await ledger.runs.list()).length > 0;
          return tell(await verifyAudit(ledger.audit, head ?? null, hasRuns), { json });
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

function tell({ entries, head, findings, uncopied }: AuditVerdict, { json }: { json: boolean }): ExitCode {
  const holds = findings.length === 0;
  if (json) printJson({ holds, entries, head: headText(head), uncopied, findings });
  else {
    const verdict = holds ? 'The audit log holds' : 'THE AUDIT LOG DOES NOT HOLD';
    print(`${verdict}: ${entries} entries, proven up to ${headText(head) ?? 'none'}`);
    for (const { message } of findings) print(safeText(`  ${message}`));
  }
  if (uncopied > 0) say(`${uncopied} entries have no copy in the data directory yet; it follows with the next entry.`);
  return holds ? EXIT.ok : EXIT.defect;
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

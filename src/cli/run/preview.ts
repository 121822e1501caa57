import { existsSync } from 'node:fs';
import { z } from 'zod';
import { rfc3339, systemClock, systemRandom } from '../../clock.ts';
import { type Config, nameOf, readConfig } from '../../config/config.ts';
import { openLog } from '../../log.ts';
import { formatAmount } from '../../money.ts';
import { Refusal } from '../../refusal.ts';
import { type Foreseen, foresee, type StoppedRows } from '../../runs/hand-in/foresee.ts';
import { foreseenDocument } from '../../runs/hand-in/foreseen-document.ts';
import { type OutageDeps, outageText, serviceOutage } from '../../runs/outages.ts';
import { previewDocument } from '../../runs/preview/document.ts';
import { type Preview, type PreviewOptions, previewFile, QUOTES_MAX } from '../../runs/preview/preview.ts';
import { withQuotingService } from '../../runs/preview/quoting-service.ts';
import { openAnswering } from '../../service/answering.ts';
import { columns } from '../columns.ts';
import { command } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { requireService, withLedger } from '../open.ts';
import { print, printJson, say } from '../print.ts';
import { onStop, unlessStopped } from '../stop.ts';
import { intakeOptions, intakeOptionsOf } from './intake-options.ts';
import { payingStep, stepLines } from './next-steps.ts';
import { previewText } from './preview-text.ts';

const SAMPLE_MAX = 1000;
const LOOK_EVERY_MS = 1000;

const sample = z
  .string()
  .regex(/^(?:all|[1-9][0-9]{0,2}|1000)$/, `must be all, or a number of rows from 1 to ${SAMPLE_MAX}`)
  .transform((text) => (text === 'all' ? ('all' as const) : Number.parseInt(text, 10)));

/** `payrun preview`: what a payout file would come to now, from quotes that are never armed. */
export const previewCommand = command(
  'preview',
  {
    takes: { '<file>': 'the payout file: CSV, a workbook (.xlsx) or a payment message (.xml)' },
    options: {
      ...intakeOptions,
      sandbox: 'ask the simulated service, when no service is configured',
      sample: [
        '<rows>',
        `how many rows of each corridor are quoted, or all (at most ${QUOTES_MAX}); a corridor is a pair of currencies, an amount type, for oneself or for another (default: all of a file of up to 100 rows, else 20)`,
        sample.optional(),
      ],
      json: 'print the preview as JSON',
    },
    help:
      'Funds needed are the source amounts and the fees that the service names in that currency. Whether a reference was' +
      '\nused before, and limits, are looked at when the file is submitted.' +
      '\nIt exits 3 when the file has problems, and 4 when the service gives no quote for some row, or one would not be paid.',
    examples: ['payrun preview payouts.csv', 'payrun preview payouts.csv --sample 200 --json'],
  },
  async ({ file, sample: rows, sandbox, json, ...intake }) => {
    const config = readConfig();
    requireService(config, { sandbox });
    const options = { intake: { limits: config.files, ...(await intakeOptionsOf(intake)) }, sample: rows };
    const stop = onStop();
    try {
      return await preview({ config, json }, { file, template: intake.template }, { ...options, signal: stop.signal });
    } finally {
      stop.release();
    }
  },
);

/** Says once that the service does not answer, for as long as it does not. */
async function tellSilence(deps: Pick<OutageDeps, 'answering' | 'serviceName'>, until: AbortSignal): Promise<void> {
  let isTold = false;
  while (!until.aborted) {
    const outage = serviceOutage(deps);
    if (outage !== undefined && !isTold) say(outageText(outage, { now: systemClock.now(), work: '' }));
    isTold = outage !== undefined;
    await systemClock.sleep(LOOK_EVERY_MS, until);
  }
}

interface LookedAt {
  readonly file: string;
  readonly template: string | undefined;
}

async function preview(
  { config, json }: { config: Config; json: boolean },
  looked: LookedAt,
  options: PreviewOptions,
): Promise<ExitCode> {
  const deps = { clock: systemClock, random: systemRandom };
  const log = openLog(config.logLevel ?? 'error');
  const answering = openAnswering(systemClock);
  const asked = new AbortController();
  void tellSilence({ answering, serviceName: nameOf(config.service) }, asked.signal);
  const quoting = withQuotingService({ config, log, answering, ...deps }, (service) =>
    previewFile({ ...config, ...deps, service, defaults: config }, looked.file, options),
  );
  const found = await unlessStopped(quoting, options.signal).finally(() => asked.abort());
  if (options.signal.aborted) return EXIT.interrupted;
  const ahead = await lookAhead(looked.file, found, config);
  const facts = { name: nameOf(config.service), sandbox: config.service === undefined };
  if (json) {
    const foreseen = ahead.foreseen && foreseenDocument(ahead.foreseen);
    printJson({ ...previewDocument(found, facts), foreseen });
  } else {
    const parts = [previewText(found, facts), foreseenText(ahead), nextText(found, ahead, looked)];
    print(parts.filter((part) => part !== '').join('\n\n'));
  }
  return exitCodeOf(found, ahead.foreseen);
}

/** What the ledger knows against the valid rows, or why nothing was looked up. It is only read; where there is none, none is made. */
async function lookAhead(path: string, { checked }: Preview, { dataDir }: Config): Promise<LookedAhead> {
  if (checked.fileRefused || checked.valid === 0) return { foreseen: null, why: null };
  if (!existsSync(dataDir)) return { foreseen: null, why: `there is no data directory ${dataDir}.` };
  try {
    const foreseen = await withLedger((app) => foresee({ ...app, identities: undefined }, { path, checked }));
    return { foreseen, why: null };
  } catch (error) {
    if (!(error instanceof Refusal) || error.kind === 'interrupted') throw error;
    return { foreseen: null, why: error.message };
  }
}

/** The command that comes next: of a file that was handed in before the one that shows its run. None where no row would be paid. */
function nextText({ checked }: Preview, { foreseen }: LookedAhead, looked: LookedAt): string {
  if (foreseen !== null && foreseen.knownRun !== null) return `how far it is -> payrun status ${foreseen.knownRun.id}`;
  if (foreseen?.pays.rows === 0) return '';
  return stepLines([payingStep(checked, looked)]);
}

function exitCodeOf({ checked, quoting, rowsUnpriced }: Preview, foreseen: Foreseen | null): ExitCode {
  if (checked.problemsTotal > 0) return EXIT.fileRefused;
  const isStopped = foreseen !== null && foreseen.stopped.length > 0;
  return quoting.unquoted.length > 0 || rowsUnpriced > 0 || isStopped ? EXIT.notPaid : EXIT.ok;
}

const NAMED_MAX = 10;

/** What the ledger told, or why it told nothing; both null for a file of which nothing can be paid. */
interface LookedAhead {
  readonly foreseen: Foreseen | null;
  readonly why: string | null;
}

/** Which rows would not be paid and why, for a terminal. */
function foreseenText({ foreseen, why }: LookedAhead): string {
  if (foreseen === null)
    return why === null ? '' : `References, likely duplicates, blocks and limits were not looked up: ${why}`;
  const { knownRun, stopped, pays, untold, waiting } = foreseen;
  if (knownRun !== null) {
    return `The content of this file is run ${knownRun.id} already (${knownRun.state}): submitting it again adds nothing to that run.`;
  }
  const totals = pays.totals.map((money) => `${formatAmount(money)} ${money.currency}`).join(', ');
  return [
    pays.rows === 0
      ? 'By the ledger, no row would be paid by itself.'
      : `By the ledger, ${rowsText(pays.rows)} would be paid: ${totals}.`,
    ...stopped.map(stoppedText),
    ...(untold === 0 ? [] : [`Of ${rowsText(untold)} only a quote tells whether a limit stands against it.`]),
    ...(waiting === null
      ? []
      : [`The run would wait${waiting.at === 'schedule' ? '' : ` until ${rfc3339(waiting.at)}`}: ${waiting.reason}.`]),
  ].join('\n');
}

function stoppedText({ code, becomes, reason, rows, named }: StoppedRows): string {
  const lines = named
    .slice(0, NAMED_MAX)
    .map(({ line, reference, other }) => [`  line ${line}`, reference, other === null ? '' : `see ${other}`]);
  const left = rows - lines.length;
  return [
    `${rowsText(rows)} would be ${becomes}: ${reason} (${code})`,
    columns(lines),
    ...(left === 0 ? [] : [`  and ${left} more`]),
  ].join('\n');
}

function rowsText(rows: number): string {
  return rows === 1 ? '1 row' : `${rows} rows`;
}

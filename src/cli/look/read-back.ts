import type { JobQueues } from '../../../jobs/open.ts';
import type { App } from '../../app.ts';
import { writeAtomically } from '../../files.ts';
import { Refusal } from '../../refusal.ts';
import { jsonText } from '../../report/json-text.ts';
import { tableCsv } from '../../report/table-csv.ts';
import { type Difference, readBack } from '../../runs/read-back.ts';
import { readRun } from '../../runs/read-run.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { withApp } from '../open.ts';
import { printAll, safeText, say } from '../print.ts';
import { openForLookUp } from '../serve/pay-service.ts';

interface Wanted {
  readonly json: boolean;
  /** Undefined: standard output. */
  readonly output: string | undefined;
}

const COLUMNS = ['line', 'reference', 'paymentId', 'what', 'ledger', 'service'] as const;

const LOOKS = { logLevel: 'error', makesLedger: false, purpose: 'look at' } as const;

/** What was asked and what came of it, for the line at the end. */
interface Count {
  asked: number;
  different: number;
  unanswered: number;
}

/**
 * `payrun report RUN --verify-with-service`: every payment of the run read from the service again; a row for each
 * difference. Exit 1 with any difference, 69 when the service did not say of every payment.
 */
export async function reportReadBack(runId: string, { json, output }: Wanted): Promise<ExitCode> {
  return await withApp({ ...LOOKS, tellsPlace: !json }, async (app) => {
    const count: Count = { asked: 0, different: 0, unanswered: 0 };
    const run = await readRun(app, runId);
    if (run.purgedAt !== null) throw refusePurged(runId);
    const found = differencesOf(app, { runId, count });
    const text = json ? jsonOf(found, { runId, count }) : csvOf(found);
    if (output === undefined) await printAll(text);
    else await writeAtomically(output, text);
    say(
      `${count.asked} payments were read back: ${count.different} differences, ${count.unanswered} without an answer.`,
    );
    if (output !== undefined) say(`wrote ${safeText(output)}`);
    if (count.different > 0) return EXIT.defect;
    return count.unanswered > 0 ? EXIT.unavailable : EXIT.ok;
  });
}

async function* differencesOf(
  app: App<JobQueues>,
  { runId, count }: { runId: string; count: Count },
): AsyncGenerator<Difference> {
  const pay = await openForLookUp(app);
  for await (const { asked, differences, unanswered } of readBack({ ...pay, ledger: app.ledger }, runId)) {
    count.asked += asked;
    count.different += differences.length;
    count.unanswered += unanswered.length;
    yield* differences;
    for (const line of unanswered) yield unread(line);
  }
}

function unread(line: number): Difference {
  return { line, reference: '', paymentId: '', what: 'no answer', ledger: null, service: null };
}

async function* csvOf(found: AsyncIterable<Difference>): AsyncGenerator<string> {
  yield tableCsv([COLUMNS]);
  for await (const one of found) yield tableCsv([COLUMNS.map((column) => one[column])]);
}

async function* jsonOf(
  found: AsyncIterable<Difference>,
  { runId, count }: { runId: string; count: Count },
): AsyncGenerator<string> {
  let before = `{"runId":${jsonText(runId)},"differences":[`;
  for await (const one of found) {
    yield `${before}\n${jsonText(one)}`;
    before = ',';
  }
  yield `${before === ',' ? '' : before}],${jsonText(count).slice(1)}\n`;
}

function refusePurged(runId: string): Refusal {
  return new Refusal(
    `The rows of run ${runId} were removed; there is nothing to read back.`,
    `"payrun status ${runId}" has its numbers.`,
  );
}

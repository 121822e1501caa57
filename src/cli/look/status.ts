import { endingDocument, endingOf, endingWords } from '../../../jobs/cut-offs.ts';
import type { App } from '../../app.ts';
import type { Run } from '../../payout.ts';
import { documentOf } from '../../runs/document.ts';
import { outagesDocument, outagesNoted } from '../../runs/outages.ts';
import { readRun } from '../../runs/read-run.ts';
import { requireTrueFacts } from '../../runs/safety/shown-seals.ts';
import { WRITE_OFF } from '../command-words.ts';
import { ledgerCommand } from '../ledger-command.ts';
import { printJson, say } from '../print.ts';
import { printRun } from '../print-run.ts';

/** So long the service is asked what a run needs that waits for approval. */
export const FUNDS_MS_MAX = 10_000;

/** `payrun status`: how far a run is. */
export const statusCommand = ledgerCommand(
  'status',
  {
    tellsPlace: false,
    takes: { '<run>': 'the run' },
    options: { json: 'print the run as JSON' },
    examples: ['payrun status 20260131-k3f9xq', 'payrun status 20260131-k3f9xq --json'],
  },
  async (app, { run: runId, json }) => {
    const run = await readRun(app, runId);
    await requireTrueFacts(app, run);
    const [shown, ending] = await Promise.all([runWithFunds(app, run), endingOf(app, run)]);
    if (json) {
      const outages = await outagesDocument(app);
      printJson({ ...(await documentOf(app, shown)), ending: endingDocument(ending), outages });
    } else {
      await printRun(app, shown, { json });
      if (ending !== null) say(endingWords(ending));
    }
    for (const words of await outagesNoted(app, { run, writeOff: WRITE_OFF })) say(words);
    await tellHalt(app);
  },
);

/** A run that waits for approval with what it needs; nothing else asks the service, nor loads what does. */
async function runWithFunds(app: App, run: Run): Promise<Run> {
  if (run.state !== 'awaiting-approval') return run;
  const { withFunds } = await import('../../runs/preview/run-funds.ts');
  return await withFunds(app, run, FUNDS_MS_MAX);
}

/** Says that everything is halted, if it is. */
export async function tellHalt({ ledger }: Pick<App, 'ledger'>): Promise<boolean> {
  const { halt } = await ledger.state.read();
  if (halt !== null) say(`Everything is halted: ${halt}. Two people release it with "payrun release --as NAME".`);
  return halt !== null;
}

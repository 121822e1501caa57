import { endingWords } from '../../../jobs/cut-offs.ts';
import type { App } from '../../app.ts';
import { outagesNoted } from '../../runs/outages.ts';
import { readRun } from '../../runs/read-run.ts';
import { requireTrueFacts } from '../../runs/safety/shown-seals.ts';
import { ledgerCommand } from '../ledger-command.ts';
import { say } from '../print.ts';
import { printRun } from '../print-run.ts';

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
    await printRun(app, run, { json });
    const ending = json ? undefined : await endingWords(app, run);
    if (ending !== undefined) say(ending);
    for (const words of await outagesNoted(app, run)) say(words);
    await tellHalt(app);
  },
);

/** Says that everything is halted, if it is. */
export async function tellHalt({ ledger }: Pick<App, 'ledger'>): Promise<boolean> {
  const { halt } = await ledger.state.read();
  if (halt !== null) say(`Everything is halted: ${halt}. Two people release it with "payrun release --as NAME".`);
  return halt !== null;
}

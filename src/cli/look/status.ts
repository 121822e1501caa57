import { Command } from 'commander';
import { z } from 'zod';
import type { App } from '../../app.ts';
import { EXIT, type ExitCode } from '../../refusal.ts';
import { outagesNoted } from '../../runs/outages.ts';
import { readRun } from '../../runs/read-run.ts';
import { requireTrueFacts } from '../../runs/safety/shown-seals.ts';
import { withLedger } from '../open.ts';
import { parseOptions } from '../options.ts';
import { say } from '../print.ts';
import { printRun } from '../print-run.ts';

const schema = z.object({ json: z.boolean() });

/** `payrun status`: how far a run is. */
export function statusCommand(end: (code: ExitCode) => void): Command {
  return new Command('status')
    .argument('<run>', 'the run')
    .option('--json', 'print the run as JSON', false)
    .addHelpText('after', '\nExamples:\n  payrun status 20260131-k3f9xq\n  payrun status 20260131-k3f9xq --json')
    .action(async (runId: string, raw: unknown) => {
      const { json } = parseOptions(schema, raw);
      const show = async (app: App): Promise<ExitCode> => {
        const run = await readRun(app, runId);
        await requireTrueFacts(app, run);
        await printRun(app, run, { json });
        for (const words of await outagesNoted(app)) say(words);
        await tellHalt(app);
        return EXIT.ok;
      };
      end(await withLedger(show));
    });
}

/** Says that everything is halted, if it is. */
export async function tellHalt({ ledger }: Pick<App, 'ledger'>): Promise<boolean> {
  const { halt } = await ledger.state.read();
  if (halt !== null) say(`Everything is halted: ${halt}. Two people release it with "payrun release --as NAME".`);
  return halt !== null;
}

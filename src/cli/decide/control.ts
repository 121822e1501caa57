import { Command } from 'commander';
import { z } from 'zod';
import type { App } from '../../app.ts';
import type { Run } from '../../payout.ts';
import { EXIT, type ExitCode, Refusal } from '../../refusal.ts';
import { type Control, cancelPayout, cancelRun, findPayout, pauseRun, resumeRun } from '../../runs/decide/control.ts';
import { readRun } from '../../runs/read-run.ts';
import { type AppCommand, actorOf, withLedger } from '../open.ts';
import { parseOptions, personName, reasonText } from '../options.ts';
import { say } from '../print.ts';
import { printRun } from '../print-run.ts';

const schema = z.object({ reason: reasonText, as: personName.optional(), json: z.boolean() });

/** `payrun pause`: stops one run. */
export function pauseCommand(end: (code: ExitCode) => void): Command {
  return controlCommand('pause')
    .requiredOption('--reason <text>', 'why, for the history of the run')
    .addHelpText(
      'after',
      '\nWhat was already sent is still looked up.' +
        '\n\nExample:\n  payrun pause 20260131-k3f9xq --reason "the rates look wrong"',
    )
    .action(async (runId: string, raw: unknown) => {
      end(await steer(runId, raw, { purpose: 'pause', act: (app, control) => pauseRun(app, runId, control) }));
    });
}

/** `payrun resume`: lets a paused run go on. */
export function resumeCommand(end: (code: ExitCode) => void): Command {
  return controlCommand('resume')
    .option('--reason <text>', 'why, for the history of the run', 'resumed')
    .addHelpText('after', '\nExample:\n  payrun resume 20260131-k3f9xq --as anna')
    .action(async (runId: string, raw: unknown) => {
      end(await steer(runId, raw, { purpose: 'resume', act: (app, control) => resumeRun(app, runId, control) }));
    });
}

/** `payrun cancel`: gives up a run, or one payout of it that was never sent. */
export function cancelCommand(end: (code: ExitCode) => void): Command {
  return controlCommand('cancel')
    .argument('[reference]', 'one payout of it')
    .option('--reason <text>', 'why, for the history', 'cancelled')
    .addHelpText(
      'after',
      '\nWhat was sent cannot be cancelled: it is looked up until it is known whether it was paid.' +
        '\n\nExamples:\n  payrun cancel 20260131-k3f9xq\n  payrun cancel 20260131-k3f9xq INV-2026-0042 --reason "paid by hand"',
    )
    .action(async (runId: string, reference: string | undefined, raw: unknown) => {
      const cancel = reference === undefined ? cancelRun : cancelOne(reference);
      end(await steer(runId, raw, { purpose: 'cancel', act: (app, control) => cancel(app, runId, control) }));
    });
}

function controlCommand(name: string): Command {
  return new Command(name)
    .argument('<run>', 'the run')
    .option('--as <name>', 'who does it')
    .option('--json', 'print the run as JSON', false);
}

interface Steering {
  readonly purpose: string;
  readonly act: (app: App, control: Control) => Promise<Run>;
}

async function steer(runId: string, raw: unknown, { purpose, act }: Steering): Promise<ExitCode> {
  const { reason, json, ...options } = parseOptions(schema, raw);
  const command: AppCommand = async (app) => {
    const run = await act(app, { actor: actorOf(options.as), reason });
    await printRun(app, run, { json });
    const { armed, quoted, unknown } = run.counts;
    const left = armed + quoted + unknown;
    if (left > 0) say(`${left} payouts of run ${runId} may have been sent; workers look them up until it is known.`);
    return EXIT.ok;
  };
  return await withLedger(command, { purpose });
}

function cancelOne(reference: string) {
  return async (app: App, runId: string, control: Control): Promise<Run> => {
    await readRun(app, runId);
    const payout = await findPayout(app.ledger, runId, reference);
    if (payout === undefined) {
      throw new Refusal(`Run ${runId} has no payout with the reference ${reference}.`, {
        exitCode: EXIT.usage,
        remedy: `See "payrun list ${runId}" for its rows. Upper and lower case and blanks count.`,
      });
    }
    await cancelPayout(app, payout, control);
    return await readRun(app, runId);
  };
}

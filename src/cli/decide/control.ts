import type { App } from '../../app.ts';
import { stageNumber } from '../../config/stages.ts';
import type { Run } from '../../payout.ts';
import { type Control, cancelPayout, cancelRun, pauseRun, resumeRun } from '../../runs/decide/control.ts';
import { readRun } from '../../runs/read-run.ts';
import { ledgerCommand } from '../ledger-command.ts';
import { actorOf } from '../open.ts';
import { personName, reasonText } from '../options.ts';
import { say } from '../print.ts';
import { printRun } from '../print-run.ts';
import { requirePayout } from './decide.ts';

const by = ['<name>', 'who does it', personName.optional()] as const;
const json = 'print the run as JSON';

/** `payrun pause`: stops one run. */
export const pauseCommand = ledgerCommand(
  'pause',
  {
    tellsPlace: false,
    purpose: 'pause',
    takes: { '<run>': 'the run' },
    options: { as: by, json, reason: ['<text>', 'why, for the history of the run', reasonText] },
    help: 'What was already sent is still looked up.',
    examples: ['payrun pause 20260131-k3f9xq --reason "the rates look wrong"'],
  },
  (app, given) => steer(app, given, pauseRun),
);

/** `payrun resume`: lets a paused run go on. */
export const resumeCommand = ledgerCommand(
  'resume',
  {
    tellsPlace: false,
    purpose: 'resume',
    takes: { '<run>': 'the run' },
    options: {
      as: by,
      json,
      reason: ['<text>', 'why, for the history of the run', reasonText, 'resumed'],
      stage: [
        '<n>',
        'the stage that is over, as you saw it: refused when it is another one by now',
        stageNumber.optional(),
      ],
    },
    examples: ['payrun resume 20260131-k3f9xq --as anna', 'payrun resume 20260131-k3f9xq --stage 1'],
  },
  (app, { stage, ...given }) => steer(app, given, (to, run, control) => resumeRun(to, run, { ...control, stage })),
);

/** `payrun cancel`: gives up a run, or one payout of it that was never sent. */
export const cancelCommand = ledgerCommand(
  'cancel',
  {
    tellsPlace: false,
    purpose: 'cancel',
    takes: { '<run>': 'the run', '[reference]': 'one payout of it' },
    options: { as: by, json, reason: ['<text>', 'why, for the history', reasonText, 'cancelled'] },
    help: 'What was sent cannot be cancelled: it is looked up until it is known whether it was paid.',
    examples: ['payrun cancel 20260131-k3f9xq', 'payrun cancel 20260131-k3f9xq INV-2026-0042 --reason "paid by hand"'],
  },
  (app, { reference, ...given }) => steer(app, given, reference === undefined ? cancelRun : cancelOne(reference)),
);

interface Steering {
  readonly run: string;
  readonly as: string | undefined;
  readonly reason: string;
  readonly json: boolean;
}

async function steer(
  app: App,
  { run: runId, as, reason, json: asJson }: Steering,
  act: (app: App, runId: string, control: Control) => Promise<Run>,
): Promise<undefined> {
  const run = await act(app, runId, { actor: actorOf(as), reason });
  await printRun(app, run, { json: asJson });
  const { armed, quoted, unknown } = run.counts;
  const left = armed + quoted + unknown;
  if (left > 0) say(`${left} payouts of run ${runId} may have been sent; workers look them up until it is known.`);
}

function cancelOne(reference: string) {
  return async (app: App, runId: string, control: Control): Promise<Run> => {
    await readRun(app, runId);
    const payout = await requirePayout(app, runId, reference);
    await cancelPayout(app, payout, control);
    return await readRun(app, runId);
  };
}

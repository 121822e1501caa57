import { Command } from 'commander';
import { z } from 'zod';
import type { App } from '../../app.ts';
import type { PayDeps } from '../../pay/deps.ts';
import type { Decision, Payout } from '../../payout.ts';
import { EXIT, type ExitCode, Refusal } from '../../refusal.ts';
import { findPayout } from '../../runs/decide/control.ts';
import { type Decided, decidePayout } from '../../runs/decide/decide.ts';
import { readRun } from '../../runs/hand-in/submit.ts';
import { openLookUps } from '../../runs/look-ups.ts';
import { proposalShown } from '../../runs/story.ts';
import { withApp } from '../open.ts';
import { parseOptions, personName, reasonText } from '../options.ts';
import { print, printJson, safeText, say } from '../print.ts';
import { openPayService } from '../serve/pay-service.ts';

const heldSchema = z.object({ as: personName, reason: reasonText, json: z.boolean() });
const resolveSchema = heldSchema.extend({
  paid: z.string().trim().min(1, 'must not be empty').max(128, 'must have at most 128 characters').optional(),
  notPaid: z.boolean(),
});

const BY_TWO = '\nOne person proposes it, another one confirms it by the same command with their own name.';

/** `payrun allow`: lets a held payout that was never sent go, by two people. */
export function allowCommand(end: (code: ExitCode) => void): Command {
  return decideCommand('allow')
    .addHelpText(
      'after',
      `${BY_TWO}\n\nExample:\n  payrun allow 20260131-k3f9xq INV-7 --reason "not a duplicate" --as anna`,
    )
    .action(async (runId: string, reference: string, raw: unknown) => {
      const { as, reason, json } = parseOptions(heldSchema, raw);
      end(await decide({ runId, reference, json }, { decision: 'allow', paymentId: '', by: as, reason }));
    });
}

/** `payrun drop`: gives up a held payout that was never sent, by two people. */
export function dropCommand(end: (code: ExitCode) => void): Command {
  return decideCommand('drop')
    .addHelpText(
      'after',
      `${BY_TWO}\n\nExample:\n  payrun drop 20260131-k3f9xq INV-7 --reason "sent by hand" --as anna`,
    )
    .action(async (runId: string, reference: string, raw: unknown) => {
      const { as, reason, json } = parseOptions(heldSchema, raw);
      end(await decide({ runId, reference, json }, { decision: 'drop', paymentId: '', by: as, reason }));
    });
}

/** `payrun resolve`: settles what only people can, by two of them. */
export function resolveCommand(end: (code: ExitCode) => void): Command {
  return decideCommand('resolve')
    .option('--paid <payment>', 'it was paid, by this payment')
    .option('--not-paid', 'it was not paid; only after the end of its quote', false)
    .addHelpText(
      'after',
      `${BY_TWO}\nThe service is asked both times; what it says counts for more than what people say.` +
        '\n\nExamples:\n  payrun resolve 20260131-k3f9xq INV-7 --not-paid --reason "bank confirms" --as anna' +
        '\n  payrun resolve 20260131-k3f9xq INV-7 --paid 5f0c…e1 --reason "found in the console" --as bob',
    )
    .action(async (runId: string, reference: string, raw: unknown) => {
      const { as, reason, json, paid, notPaid } = parseOptions(resolveSchema, raw);
      if ((paid === undefined) !== notPaid) {
        throw new Refusal('Say either --paid PAYMENT or --not-paid.', {
          exitCode: EXIT.usage,
          remedy: 'See "payrun show" for what is known of the payout.',
        });
      }
      const decision = notPaid ? 'not-paid' : 'paid';
      end(await decide({ runId, reference, json }, { decision, paymentId: paid ?? '', by: as, reason }));
    });
}

function decideCommand(name: string): Command {
  return new Command(name)
    .argument('<run>', 'the run')
    .argument('<reference>', "the payout's reference in the payout file")
    .requiredOption('--reason <text>', 'why, for the history and the audit log')
    .requiredOption('--as <name>', 'who says so')
    .option('--json', 'print the payout as JSON', false);
}

interface Which {
  readonly runId: string;
  readonly reference: string;
  readonly json: boolean;
}

interface Wanted {
  readonly decision: Decision;
  readonly paymentId: string;
  readonly by: string;
  readonly reason: string;
}

async function decide({ runId, reference, json }: Which, wanted: Wanted): Promise<ExitCode> {
  return await withApp({ logLevel: 'error', makesLedger: false, purpose: 'decide' }, async (app) => {
    await readRun(app, runId);
    const payout = await requirePayout(app, runId, reference);
    const decided = await decidePayout({ ...app, openPay: onceOpened(app) }, payout, wanted);
    tell(await requirePayout(app, runId, reference), decided, json);
    return EXIT.ok;
  });
}

async function requirePayout(app: App, runId: string, reference: string): Promise<Payout> {
  const payout = await findPayout(app.ledger, runId, reference);
  if (payout !== undefined) return payout;
  throw new Refusal(`Run ${runId} has no payout with the reference ${reference}.`, {
    exitCode: EXIT.usage,
    remedy: `See "payrun list ${runId}" for its rows; capital letters and blanks matter.`,
  });
}

function onceOpened(app: App): () => Promise<PayDeps> {
  let opened: Promise<PayDeps> | undefined;
  return () => {
    opened ??= openForLookUp(app);
    return opened;
  };
}

/** Starts the sandbox where it is to be asked; while another process runs it, that one's is asked. */
async function openForLookUp(app: App): Promise<PayDeps> {
  let tries = 0;
  const own = await openPayService(app, { signal: new AbortController().signal, hasEnded: async () => tries++ > 0 });
  return own ?? (await openLookUps(app)());
}

function tell(payout: Payout, { result, evidence }: Decided, json: boolean): void {
  const { runId, row, state, proposal } = payout;
  if (json) printJson({ runId, reference: row.reference, state, result, proposal: proposalShown(proposal), evidence });
  else print(safeText([`${row.reference} is ${state}`, ...evidence].join('\n')));
  if (result === 'proposed')
    say('Proposed. Still needed: another person, with the same command and their own --as NAME.');
}

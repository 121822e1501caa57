import { Command } from 'commander';
import { z } from 'zod';
import type { App } from '../../app.ts';
import type { PayDeps } from '../../pay/deps.ts';
import type { Decision, Payout } from '../../payout.ts';
import { EXIT, type ExitCode, Refusal } from '../../refusal.ts';
import { findPayout } from '../../runs/decide/control.ts';
import { type Decided, decidePayout } from '../../runs/decide/decide.ts';
import { type BulkDecided, decideInBulk, PAYOUTS_PER_CALL_MAX, REASON_CODE } from '../../runs/decide/in-bulk.ts';
import { readRun } from '../../runs/read-run.ts';
import { proposalShown } from '../../runs/story.ts';
import { withApp } from '../open.ts';
import { parseOptions, personName, reasonText } from '../options.ts';
import { print, printJson, safeText, say } from '../print.ts';
import { openForLookUp } from '../serve/pay-service.ts';

const reasonCode = z.string().trim().regex(REASON_CODE, 'must be a code such as E_LIMIT');
const heldSchema = z.object({
  as: personName,
  reason: reasonText,
  reasonCode: reasonCode.optional(),
  yes: z.boolean(),
  json: z.boolean(),
});
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
      `${BY_TWO}\n\nExamples:\n  payrun allow 20260131-k3f9xq INV-7 --reason "not a duplicate" --as anna` +
        '\n  payrun allow 20260131-k3f9xq --reason-code E_LIMIT --reason "agreed with treasury" --as anna',
    )
    .action(async (runId: string, reference: string | undefined, raw: unknown) => {
      const { as, reason, json, yes, reasonCode: code } = parseOptions(heldSchema, raw);
      end(
        await decide(
          { runId, reference, code, json },
          { decision: 'allow', paymentId: '', by: as, reason, caveats: readIf(yes) },
        ),
      );
    });
}

/** `payrun drop`: gives up a held payout that was never sent, by two people. */
export function dropCommand(end: (code: ExitCode) => void): Command {
  return decideCommand('drop')
    .addHelpText(
      'after',
      `${BY_TWO}\n\nExample:\n  payrun drop 20260131-k3f9xq INV-7 --reason "sent by hand" --as anna`,
    )
    .action(async (runId: string, reference: string | undefined, raw: unknown) => {
      const { as, reason, json, yes, reasonCode: code } = parseOptions(heldSchema, raw);
      end(
        await decide(
          { runId, reference, code, json },
          { decision: 'drop', paymentId: '', by: as, reason, caveats: readIf(yes) },
        ),
      );
    });
}

/** `payrun resolve`: settles what only people can, by two of them. */
export function resolveCommand(end: (code: ExitCode) => void): Command {
  return decideCommand('resolve')
    .option('--paid <payment>', 'it was paid, by this payment')
    .option('--not-paid', 'it was not paid; only after the end of its quote', false)
    .addHelpText(
      'after',
      `${BY_TWO}\nThe service is asked both times, and its answer takes precedence over what people say.` +
        '\n\nExamples:\n  payrun resolve 20260131-k3f9xq INV-7 --not-paid --reason "bank confirms" --as anna' +
        '\n  payrun resolve 20260131-k3f9xq INV-7 --paid 5f0c…e1 --reason "found in the console" --as bob',
    )
    .action(async (runId: string, reference: string | undefined, raw: unknown) => {
      const { as, reason, json, yes, paid, notPaid, reasonCode: code } = parseOptions(resolveSchema, raw);
      if ((paid === undefined) !== notPaid) {
        throw new Refusal('Say either --paid PAYMENT or --not-paid.', {
          exitCode: EXIT.usage,
          remedy: '"payrun show" has what is known of the payout.',
        });
      }
      const decision = notPaid ? 'not-paid' : 'paid';
      end(
        await decide(
          { runId, reference, code, json },
          { decision, paymentId: paid ?? '', by: as, reason, caveats: readIf(yes) },
        ),
      );
    });
}

function decideCommand(name: string): Command {
  return new Command(name)
    .argument('<run>', 'the run')
    .argument('[reference]', "the payout's reference in the payout file")
    .option('--reason-code <code>', 'all held payouts of the run that have this code, such as E_LIMIT, in place of one')
    .requiredOption('--reason <text>', 'why, for the history and the audit log')
    .requiredOption('--as <name>', 'who says so')
    .option('--yes', 'confirm it although something speaks against it: first read what the command shows', false)
    .option('--json', 'print the payout as JSON', false);
}

function readIf(yes: boolean): 'read' | undefined {
  return yes ? 'read' : undefined;
}

interface Which {
  readonly runId: string;
  /** One payout by its reference, or all that have a code. */
  readonly reference: string | undefined;
  readonly code: string | undefined;
  readonly json: boolean;
}

interface Wanted {
  readonly decision: Decision;
  readonly paymentId: string;
  readonly by: string;
  readonly reason: string;
  readonly caveats: 'read' | undefined;
}

async function decide({ runId, reference, code, json }: Which, wanted: Wanted): Promise<ExitCode> {
  return await withApp({ logLevel: 'error', makesLedger: false, purpose: 'decide', tellsPlace: true }, async (app) => {
    await readRun(app, runId);
    const deps = { ...app, openPay: onceOpened(app) };
    const { decision } = wanted;
    if (code !== undefined && reference === undefined && decision !== 'paid') {
      return tellAll(await decideInBulk(deps, { runId, reasonCode: code }, { ...wanted, decision }), {
        runId,
        code,
        json,
      });
    }
    if (reference === undefined || code !== undefined) throw refuseWhich(decision);
    const decided = await decidePayout(deps, await requirePayout(app, runId, reference), wanted);
    tell(await requirePayout(app, runId, reference), decided, json);
    return decided.result === 'to-read' ? EXIT.unsettled : EXIT.ok;
  });
}

function refuseWhich(decision: Decision): Refusal {
  return new Refusal(
    decision === 'paid' ? 'A payment belongs to one payout.' : 'Say which: a reference, or --reason-code CODE.',
    { exitCode: EXIT.usage, remedy: 'Name one payout by its reference. "payrun list RUN --outcome held" shows them.' },
  );
}

/** Exit code 1 where payouts were left out. */
function tellAll(
  decided: BulkDecided,
  { runId, code, json }: { runId: string; code: string; json: boolean },
): ExitCode {
  const { proposed, done, leftOut, more } = decided;
  if (json) printJson({ runId, reasonCode: code, ...decided });
  else {
    print(`${code}: ${done} done, ${proposed} proposed, ${leftOut.length} left out`);
    for (const { line, reference, why } of leftOut) print(safeText(`line ${line}, ${reference}: ${why}`));
  }
  if (proposed > 0) say('Still needed: another person, with the same command and their own --as NAME.');
  if (more) say(`Only the first ${PAYOUTS_PER_CALL_MAX} were taken. The same command goes on.`);
  return leftOut.length > 0 ? EXIT.notPaid : EXIT.ok;
}

async function requirePayout(app: App, runId: string, reference: string): Promise<Payout> {
  const payout = await findPayout(app.ledger, runId, reference);
  if (payout !== undefined) return payout;
  throw new Refusal(`Run ${runId} has no payout with the reference ${reference}.`, {
    exitCode: EXIT.usage,
    remedy: `See "payrun list ${runId}" for its rows. Upper and lower case and blanks count.`,
  });
}

function onceOpened(app: App): () => Promise<PayDeps> {
  let opened: Promise<PayDeps> | undefined;
  return () => {
    opened ??= openForLookUp(app);
    return opened;
  };
}

function tell(payout: Payout, { result, evidence }: Decided, json: boolean): void {
  const { runId, row, state, proposal } = payout;
  if (json) printJson({ runId, reference: row.reference, state, result, proposal: proposalShown(proposal), evidence });
  else print(safeText([`${row.reference} is ${state}`, ...evidence].join('\n')));
  if (result === 'to-read') say('Nothing was decided. If you confirm it all the same, repeat the command with --yes.');
  if (result === 'proposed')
    say('Proposed. Still needed: another person, with the same command and their own --as NAME.');
}

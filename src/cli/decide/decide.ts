import { z } from 'zod';
import type { App } from '../../app.ts';
import type { PayDeps } from '../../pay/deps.ts';
import type { Decision, Payout } from '../../payout.ts';
import { Refusal } from '../../refusal.ts';
import { findPayout } from '../../runs/decide/control.ts';
import { type Decided, decidePayout } from '../../runs/decide/decide.ts';
import { type BulkDecided, decideInBulk, PAYOUTS_PER_CALL_MAX } from '../../runs/decide/in-bulk.ts';
import { readRun } from '../../runs/read-run.ts';
import { proposalShown } from '../../runs/story.ts';
import { command, type GivenOptions } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { withApp } from '../open.ts';
import { personName, reasonText } from '../options.ts';
import { print, printJson, safeText, say } from '../print.ts';
import { openForLookUp } from '../serve/pay-service.ts';

const held = {
  reasonCode: [
    '<code>',
    'all payouts of the run that wait for this reason, such as E_LIMIT, in place of one',
    z.string().trim().min(1, 'must be a code such as E_LIMIT').max(200).optional(),
  ],
  reason: ['<text>', 'why, for the history and the audit log', reasonText],
  as: ['<name>', 'who says so', personName],
  yes: 'confirm it although something speaks against it: first read what the command shows',
  json: 'print the payout as JSON',
} as const;
const paymentId = z.string().trim().min(1, 'must not be empty').max(128, 'must have at most 128 characters');
const which = { '<run>': 'the run', '[reference]': "the payout's reference in the payout file" };

const BY_TWO = 'One person proposes it, another one confirms it by the same command with their own name.';

/** `payrun allow`: lets a held payout that was never sent go, by two people. */
export const allowCommand = command(
  'allow',
  {
    takes: which,
    options: held,
    help: BY_TWO,
    examples: [
      'payrun allow 20260131-k3f9xq INV-7 --reason "not a duplicate" --as anna',
      'payrun allow 20260131-k3f9xq --reason-code E_LIMIT --reason "agreed with treasury" --as anna',
    ],
  },
  (given) => decide(given, 'allow'),
);

/** `payrun drop`: gives up a held payout that was never sent, by two people. */
export const dropCommand = command(
  'drop',
  {
    takes: which,
    options: held,
    help: BY_TWO,
    examples: ['payrun drop 20260131-k3f9xq INV-7 --reason "sent by hand" --as anna'],
  },
  (given) => decide(given, 'drop'),
);

/** `payrun resolve`: settles what only people can, by two of them. */
export const resolveCommand = command(
  'resolve',
  {
    takes: which,
    options: {
      ...held,
      paid: ['<payment>', 'it was paid, by this payment', paymentId.optional()],
      ownPayment: 'with --reason-code: each was paid, by the payment of its own quote',
      notPaid: 'it was not paid; only after the end of its quote',
    },
    help: `${BY_TWO}\nThe service is asked both times, and its answer takes precedence over what people say.`,
    examples: [
      'payrun resolve 20260131-k3f9xq INV-7 --not-paid --reason "bank confirms" --as anna',
      'payrun resolve 20260131-k3f9xq INV-7 --paid 5f0c…e1 --reason "found in the console" --as bob',
      'payrun resolve 20260131-k3f9xq --reason-code HTTP_503 --own-payment --reason "on the statement" --as bob',
    ],
  },
  async ({ paid, notPaid, ownPayment, ...given }) => {
    if ([paid !== undefined, notPaid, ownPayment].filter(Boolean).length !== 1) {
      throw new Refusal(
        'Say one of --paid PAYMENT, --own-payment and --not-paid.',
        '"payrun show" has what is known of the payout.',
      );
    }
    return await decide(given, notPaid ? 'not-paid' : 'paid', paid);
  },
);

/** Of each reason. */
const LEFT_OUT_SHOWN_MAX = 3;

interface Asked extends GivenOptions<typeof held> {
  readonly run: string;
  /** One payout by its reference, or all that have a code. */
  readonly reference: string | undefined;
}

async function decide(
  { run: runId, reference, reasonCode: code, reason, as: by, yes, json }: Asked,
  decision: Decision,
  payment = '',
): Promise<ExitCode | undefined> {
  return await withApp({ logLevel: 'error', makesLedger: false, purpose: 'decide', tellsPlace: true }, async (app) => {
    await readRun(app, runId);
    const deps = { ...app, openPay: onceOpened(app) };
    const wanted = { paymentId: payment, by, reason, caveats: yes ? ('read' as const) : undefined };
    if (code !== undefined && reference === undefined && payment === '') {
      const decided = await decideInBulk(deps, { runId, reason: code }, { ...wanted, decision });
      return tellAll(decided, { runId, code, json });
    }
    if (reference === undefined || code !== undefined || (decision === 'paid' && payment === ''))
      throw refuseWhich(decision);
    const decided = await decidePayout(deps, await requirePayout(app, runId, reference), { ...wanted, decision });
    tell(await requirePayout(app, runId, reference), decided, json);
    return decided.result === 'to-read' ? EXIT.unsettled : EXIT.ok;
  });
}

function refuseWhich(decision: Decision): Refusal {
  return new Refusal(
    decision === 'paid' ? 'A payment belongs to one payout.' : 'Say which: a reference, or --reason-code CODE.',
    'Name one payout by its reference. "payrun list RUN --outcome held" shows them.',
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
    for (const line of leftOutLines(leftOut)) print(safeText(line));
  }
  if (proposed > 0) say('Still needed: another person, with the same command and their own --as NAME.');
  if (more) say(`Only the first ${PAYOUTS_PER_CALL_MAX} were taken. The same command goes on.`);
  return leftOut.length > 0 ? EXIT.notPaid : EXIT.ok;
}

/** What many have in common stands once, with the first of them; JSON has each. */
function leftOutLines(leftOut: BulkDecided['leftOut']): string[] {
  const groups = new Map<string, BulkDecided['leftOut'][number][]>();
  for (const one of leftOut) {
    const kind = one.why.replaceAll(one.reference, '');
    groups.set(kind, [...(groups.get(kind) ?? []), one]);
  }
  return [...groups.values()].flatMap((group) => {
    const shown = group.slice(0, LEFT_OUT_SHOWN_MAX);
    const lines = shown.map(({ line, reference, why }) => `line ${line}, ${reference}: ${why}`);
    return group.length === shown.length
      ? lines
      : [...lines, `and ${group.length - shown.length} more for the same reason`];
  });
}

/** The payout of a run with this reference. Throws a Refusal (exit 2) where there is none. */
export async function requirePayout(app: App, runId: string, reference: string): Promise<Payout> {
  const payout = await findPayout(app.ledger, runId, reference);
  if (payout !== undefined) return payout;
  throw new Refusal(
    `Run ${runId} has no payout with the reference ${reference}.`,
    `See "payrun list ${runId}" for its rows. Upper and lower case and blanks count.`,
  );
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

import { rfc3339, timeOrNull } from '../clock.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { FormerQuote } from '../ledger/runs/runs.ts';
import { outcomeOf, type Payout, type Proposal, payoutId, type RefusedRow } from '../payout.ts';
import { isRefused, type ReportRow, reportRow } from '../report/row.ts';

/** One payout's whole story, or what is known of a row that intake refused. */
export interface Story extends ReportRow {
  readonly payout: string;
  readonly runId: string;
  readonly state: Payout['state'] | 'refused';
  readonly evidence: Evidence | null;
  /** Quotes of this payout that were proven dead before the present one. */
  readonly deadQuotes: readonly string[];
  /** Quotes that were armed beside the present one, and are not proven dead. */
  readonly quotesBeside: readonly string[];
  /** What one person proposes, for another one to confirm. */
  readonly proposal: ProposalShown | null;
  readonly history: readonly { at: string; to: string; actor: string; reason: string; exchange: string | null }[];
}

interface ProposalShown {
  readonly decision: Proposal['decision'];
  readonly by: string;
  readonly at: string;
  readonly paymentId: string | null;
  readonly reason: string;
}

/** A proposal as JSON shows it. */
export function proposalShown(proposal: Proposal | null): ProposalShown | null {
  if (proposal === null) return null;
  const { at, paymentId, ...rest } = proposal;
  return { ...rest, at: rfc3339(at), paymentId: paymentId === '' ? null : paymentId };
}

/** What the ledger holds of a payout beside what a report shows; null for a row that never was one. */
interface Evidence {
  readonly quoteExpiresAt: string | null;
  readonly quotes: number;
  readonly armings: number;
  readonly armedBy: string | null;
  readonly armedAt: string | null;
  readonly armingCounter: number;
  readonly credentials: string | null;
  readonly seen2xx: boolean;
  readonly lookUps: number;
  readonly notFoundAt: string | null;
  readonly rejectionConfirmed: boolean;
  readonly quoteFailures: number;
}

/** The story of a row of a run as the ledger holds it. */
export async function storyOf({ runs }: Pick<Ledger, 'runs'>, runId: string, row: Payout | RefusedRow): Promise<Story> {
  const place = { payout: payoutId({ runId, line: row.line }), runId };
  if (isRefused(row)) {
    return {
      ...place,
      state: 'refused',
      ...reportRow(row),
      evidence: null,
      deadQuotes: [],
      quotesBeside: [],
      proposal: null,
      history: [],
    };
  }
  const former = (await runs.formerQuotes(runId)).filter(({ line }) => line === row.line);
  return {
    ...place,
    state: row.state,
    ...reportRow(row),
    evidence: evidenceOf(row),
    deadQuotes: idsOf(former.filter(({ isProvenDead }) => isProvenDead)),
    quotesBeside: idsOf(former.filter(({ isProvenDead }) => !isProvenDead)),
    proposal: proposalShown(row.proposal),
    history: row.history.map(({ at, exchange, ...step }) => ({
      ...step,
      at: rfc3339(at),
      exchange: exchange === '' ? null : exchange,
    })),
  };
}

function idsOf(quotes: readonly FormerQuote[]): string[] {
  return quotes.map(({ quoteId }) => quoteId);
}

function evidenceOf(payout: Payout): Evidence {
  return {
    quoteExpiresAt: timeOrNull(payout.quoteExpiresAt),
    quotes: payout.quotes,
    armings: payout.armings,
    armedBy: payout.armedBy,
    armedAt: timeOrNull(payout.armedAt),
    armingCounter: payout.armingCounter,
    credentials: payout.credentials,
    seen2xx: payout.seen2xx,
    lookUps: payout.lookUps,
    notFoundAt: timeOrNull(payout.notFoundAt),
    rejectionConfirmed: payout.rejectionConfirmed,
    quoteFailures: payout.quoteFailures,
  };
}

/** What is known of a row, a label and its words each, in the order in which people are told. */
export function storyFacts(story: Story): string[][] {
  return [...rowFacts(story), ...paymentFacts(story), ...(story.evidence === null ? [] : sendingFacts(story))];
}

function rowFacts(story: Story): string[][] {
  const outcome = outcomeOf(story.state);
  return [
    ['payout', `${story.payout}, line ${story.line} of the file`],
    ['reference', story.reference ?? ''],
    ['state', story.state === outcome ? outcome : `${story.state} (${outcome})`],
    ...factOf('reason', [story.reasonCode, story.reason]),
    ...factOf('proposed', proposalWords(story.proposal)),
    ...factOf('beneficiary', [story.beneficiaryIdentityId]),
    ...factOf('beneficiary name', [story.beneficiaryName]),
    ...factOf('originator', [story.originatorIdentityId]),
    ['asked for', amountAskedFor(story)],
  ];
}

function proposalWords(proposal: ProposalShown | null): (string | null)[] {
  if (proposal === null) return [];
  const { decision, paymentId, by, at, reason } = proposal;
  return [decision, paymentId, `by ${by} at ${at}: ${reason}; another person has to confirm it`];
}

function amountAskedFor(story: Story): string {
  const from = story.sourceCurrency ?? '?';
  const to = story.destinationCurrency ?? '?';
  return `${story.amount ?? '?'} ${story.amountType === 'DESTINATION_AMOUNT' ? to : from}, paid from ${from} to ${to}`;
}

function paymentFacts(story: Story): string[][] {
  return [
    ...factOf('payment', [story.paymentId]),
    ...factOf("service's state", [story.paymentState]),
    ...factOf('source amount', [story.sourceAmount, story.sourceAmount && story.sourceCurrency]),
    ...factOf('destination amount', [story.destinationAmount, story.destinationAmount && story.destinationCurrency]),
    ...factOf('rate', [story.rate]),
    ...story.fees.map((fee) => ['fee', `${fee.amount} ${fee.currency}`]),
    ...factOf('settled', [story.settledAt]),
  ];
}

function sendingFacts({ evidence, ...story }: Story): string[][] {
  if (evidence === null) return [];
  return [
    ...factOf('quote', [story.quoteId]),
    ...factOf('quote taken', [story.quotedAt]),
    ...factOf('quote ends', [story.quoteId && (evidence.quoteExpiresAt ?? 'the service names no end')]),
    ...story.deadQuotes.map((quoteId) => ['quote proven dead', quoteId]),
    ...story.quotesBeside.map((quoteId) => ['armed too', quoteId]),
    ['attempts', String(story.attempts)],
    ['quotes used', String(evidence.quotes)],
    ...factOf('last armed', [evidence.armedAt]),
    ...factOf('armed by', [evidence.armedBy && `process ${evidence.armedBy}`]),
    ...factOf('credentials', [evidence.credentials]),
    ...(evidence.armingCounter > 0 ? [['arming counter', String(evidence.armingCounter)]] : []),
    ['look-ups', `${evidence.lookUps} without result`],
    ...factOf('not found at', [evidence.notFoundAt]),
    ...(evidence.seen2xx ? [['2xx seen', 'yes: this quote can never be proven dead']] : []),
    ...(evidence.rejectionConfirmed ? [['rejection', 'confirmed by a look-up after the end of the quote']] : []),
    ...(evidence.quoteFailures > 0 ? [['failed quote requests', String(evidence.quoteFailures)]] : []),
  ];
}

/** A line for what is known of a fact; none when nothing is. */
function factOf(label: string, parts: readonly (string | null)[]): string[][] {
  const known = parts.filter((part) => part !== null && part !== '');
  return known.length === 0 ? [] : [[label, known.join(' ')]];
}

/** The earlier payout that a held one may repeat, as its reason names it; null when it is held for nothing like that. */
export function twinOf({
  reasonCode,
  reason,
}: Pick<Story, 'reasonCode' | 'reason'>): { readonly runId: string; readonly line: number } | null {
  if (reasonCode !== 'E_DUP_HISTORY' && reasonCode !== 'E_DUP_LIKELY') return null;
  const [, runId, line] = /\bpayout (\S{1,64})-([0-9]{1,15})\b/.exec(reason ?? '') ?? [];
  return runId === undefined || line === undefined ? null : { runId, line: Number.parseInt(line, 10) };
}

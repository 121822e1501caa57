import { rfc3339 } from '../../clock.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { SeenHolder } from '../../ledger/payouts/acts.ts';
import type { PayDeps } from '../../pay/deps.ts';
import { exchangeOf } from '../../pay/facts.ts';
import { NO_CANARY } from '../../pay/look-up/canary.ts';
import { type LookUpReading, readLookUpAnswer } from '../../pay/look-up/look-up-answer.ts';
import { hasFailed, isKnownToHaveFailed } from '../../pay/track/payment-end.ts';
import { type Decision, type Payout, payoutId } from '../../payout.ts';
import type { Answer } from '../../service/answer.ts';
import type { PaymentReply } from '../../service/replies.ts';
import { TokenRefused, TokenUnavailable } from '../../service/token.ts';
import { type AskedPayment, askedPayments } from './asked-payments.ts';
import {
  likePayout,
  NO_OTHERS,
  NOTHING_LIKE_IT,
  otherOfPayment,
  othersOfReference,
  paidUnderReference,
} from './same-reference.ts';
import { caveatOfSilence, contradictionOfSilence, refuseSilence } from './silence.ts';
import { writeBreach, writeDown } from './write-down.ts';

export interface EvidenceDeps {
  readonly ledger: Ledger;
  /** Opens what a look-up needs; called only when there is something to look up. */
  readonly openPay: () => Promise<PayDeps>;
}

/** A payment that people name, as the service shows it. */
export interface PaymentFound {
  readonly payment: PaymentReply;
  readonly exchange: string;
  readonly pay: PayDeps;
  /** It is that of another quote than the payout's present one. */
  readonly isOfFormerQuote: boolean;
  /** It is not what we asked for, which is known, and people settle it so. */
  readonly isAsShown?: boolean;
}

/** What fresh look-ups say of a payout. */
export interface Findings {
  /** Why it must not be decided as asked. */
  readonly contradiction?: string;
  readonly payment?: PaymentFound;
  /** The service's clock at the last look-up, or Redis's where it shows none; milliseconds since 1970. */
  readonly date: number;
  /** As set, and by how much the service's clock was seen to differ from ours. */
  readonly quoteGraceMs: number;
  /** The payouts that have the same reference, when they want to allow this one. */
  readonly holders?: readonly SeenHolder[];
  /** How those stand, and one that is like it: another text after another move of them. */
  readonly seen?: string;
  readonly words: readonly string[];
  /** What speaks against it, which each of the two has to weigh for this very payout. */
  readonly caveats: readonly string[];
}

/**
 * Asks the service about a payout that people want to settle: the payment that they name, else each quote of it that may
 * have been sent, those that were proven dead included. What is found is written down at once. Throws a Refusal (unavailable)
 * when the service says nothing.
 */
export async function lookUpForPeople(
  deps: EvidenceDeps,
  payout: Payout,
  asked: { decision: Decision; paymentId: string },
): Promise<Findings> {
  if (asked.decision === 'paid') return await lookUpNamed(deps, payout, asked.paymentId);
  const payments = await askedPayments(deps.ledger, payout);
  const isAllowed = asked.decision === 'allow';
  const others = isAllowed ? await othersOfReference(deps.ledger, payout) : NO_OTHERS;
  const like = isAllowed ? await likePayout(deps.ledger, payout) : NOTHING_LIKE_IT;
  const findings =
    payments.length > 0
      ? await lookUpPayments(deps, payout, payments)
      : {
          date: (await deps.ledger.payouts.read(payout)).now,
          quoteGraceMs: 0,
          words: payout.reasonCode === 'E_DIR_LOST' ? [] : ['it was never sent'],
          caveats: [],
        };
  const sentElsewhere = payout.reasonCode === 'E_DIR_LOST' ? [SENT_ELSEWHERE] : [];
  const givenUp = asked.decision === 'allow' && payout.givenUp ? [GIVEN_UP] : [];
  const breach = payout.reasonCode === 'E_BREACH' && payout.reason !== null ? [payout.reason] : [];
  const caveats = [...findings.caveats, ...breach, ...sentElsewhere, ...givenUp, ...others.words, ...like.caveats];
  const seen = [others.seen, ...like.words, ...like.caveats].filter(Boolean).join(', ');
  return { ...findings, words: [...findings.words, ...like.words], caveats, holders: others.holders, seen };
}

const OWN_ID = 'payment-id-is-quote-id';
const OTHER_ID =
  'a payment of this service may have an id of its own, which a look-up of the quote does not find: look for its reference at the service';
const SAID_YES =
  'the service said yes to its payment request, at least in part: it may have been paid, although a look-up does not find it';
const OTHER_CREDENTIALS =
  'the service was asked under other credentials than it was sent with, which may not be allowed to see its payment';
const BESIDE =
  'payrun knows neither the client id under which it was sent nor whether the service said yes to it: it may have been paid, although a look-up does not find it';
const GIVEN_UP =
  'people had given it up (cancelled or dropped it), and Redis forgot that: the audit log says who and why';
const SENT_ELSEWHERE =
  'a data directory that was written off may have sent it, under a quote that is not known: look for its reference at the service';

async function lookUpPayments(
  deps: EvidenceDeps,
  payout: Payout,
  payments: readonly AskedPayment[],
): Promise<Findings> {
  const pay = await deps.openPay();
  const words: string[] = [];
  const { now, disproved } = await pay.payouts.read(payout);
  const caveats = caveatsOf(pay, payout, { payments, disproved });
  const quoteGraceMs = pay.rules.quoteGraceMs + pay.service.clockDifferenceMs();
  let date = now;
  for (const { quoteId, paymentId, isBeside } of payments) {
    const answer = await readPayment(pay, paymentId);
    const exchange = exchangeOf(answer);
    const reading = readLookUpAnswer(answer, payout, { ...pay.rules, paymentId });
    date = earlier(date, answer);
    const facts = { date, quoteGraceMs, words, caveats };
    const aside = await saidAside(deps, payout, reading);
    words.push(...aside.words);
    caveats.push(...aside.caveats);
    if (aside.words.length + aside.caveats.length > 0) continue;
    switch (reading.kind) {
      case 'found':
      case 'other-reference':
        return {
          ...facts,
          contradiction: await contradictionOf({ ...deps, pay }, payout, { quoteId, exchange, reading }),
        };
      case 'breach':
        // What is known already halts nothing again.
        if (payout.reasonCode !== 'E_BREACH') {
          const evidence = `the payment shows ${reading.evidence}`;
          await writeBreach({ ...deps, pay }, payout, { quoteId, payment: reading.payment, exchange, evidence });
        }
        return { ...facts, contradiction: `the service has a payment for it that shows ${reading.evidence}` };
      case 'nothing':
        caveats.push(await caveatOfSilence(pay, payout, { ...reading, paymentId }));
        continue;
      case 'not-found':
        if (!(await pay.canary.sings(paymentId))) throw refuseSilence(payout, NO_CANARY);
        words.push(foundNothing({ quoteId, paymentId }, reading.date));
        caveats.push(...(isBeside ? [`of ${paymentId} ${BESIDE}`] : []));
    }
  }
  return { date, quoteGraceMs, words, caveats };
}

/** What a payment says that decides nothing: it belongs to another row, or is known to have failed. */
async function saidAside(
  deps: Pick<EvidenceDeps, 'ledger'>,
  payout: Payout,
  reading: LookUpReading,
): Promise<Pick<Findings, 'words' | 'caveats'>> {
  const ofAnother = await wordsOfAnother(deps, payout, reading);
  if (ofAnother !== undefined) return { words: [], caveats: [ofAnother] };
  if (!('payment' in reading) || !isKnownToHaveFailed(payout, reading.payment)) return { words: [], caveats: [] };
  const { paymentId, paymentState } = reading.payment;
  return { words: [`the payment ${paymentId} is ${paymentState}`], caveats: [] };
}

/** Whether the payment of a quote has that quote's id. */
function hasOwnId({ rules }: PayDeps, disproved: readonly string[]): boolean {
  return rules.capabilities.has(OWN_ID) && !disproved.includes(OWN_ID);
}

/** Whichever clock is behind decides: a wrong one may only make people wait. */
function earlier(date: number, answer: Answer): number {
  return answer.kind === 'answered' ? Math.min(date, answer.date ?? date) : date;
}

/** Why a payment may exist that a look-up does not find. */
function caveatsOf(
  pay: PayDeps,
  payout: Payout,
  { payments, disproved }: { payments: readonly AskedPayment[]; disproved: readonly string[] },
): string[] {
  const { credentials, paymentId } = payout;
  const isOneAlone = paymentId !== null && !payments.some(({ isBeside }) => isBeside);
  const isIdKnown = isOneAlone || hasOwnId(pay, disproved);
  return [
    ...(credentials === null || credentials === pay.service.fingerprint ? [] : [OTHER_CREDENTIALS]),
    ...(isIdKnown ? [] : [OTHER_ID]),
    ...(payout.seen2xx ? [SAID_YES] : []),
  ];
}

type Shown = Extract<LookUpReading, { kind: 'found' | 'other-reference' }>;

/** What is shown of a payment that is another payout's; undefined for any other answer. */
async function wordsOfAnother(
  { ledger }: Pick<EvidenceDeps, 'ledger'>,
  payout: Payout,
  reading: LookUpReading,
): Promise<string | undefined> {
  const other = 'payment' in reading ? await otherOfPayment(ledger, payout, reading.payment) : '';
  if (other === '' || !('payment' in reading)) return undefined;
  return `${shownReference(reading.payment, 'another')}: it is that of payout ${other}`;
}

/**
 * A payment speaks against all but that it was paid. Of one that shows another reference people say whose it is, unless its quote
 * was proven dead: then that quote is paid, whatever it shows.
 */
async function contradictionOf(
  deps: Pick<EvidenceDeps, 'ledger'> & { readonly pay: PayDeps },
  payout: Payout,
  { reading, ...at }: { quoteId: string; exchange: string; reading: Shown },
): Promise<string> {
  if (reading.kind === 'other-reference' && at.quoteId === payout.quoteId)
    return `${shownReference(reading.payment, 'another')}: settle it as paid by that payment`;
  return await writeDown(deps, payout, { ...at, payment: reading.payment });
}

function foundNothing(
  { quoteId, paymentId }: Pick<AskedPayment, 'quoteId' | 'paymentId'>,
  date: number | null,
): string {
  const when = date === null ? 'without a date' : `at ${rfc3339(date)}`;
  const asked = paymentId === quoteId ? `payment for the quote ${quoteId}` : `payment ${paymentId}`;
  return `the service knows no ${asked} (${when})`;
}

async function lookUpNamed(deps: EvidenceDeps, payout: Payout, paymentId: string): Promise<Findings> {
  const holder = await deps.ledger.payouts.holderOf(paymentId);
  const facts = { date: 0, quoteGraceMs: 0, words: [], caveats: [] };
  if (holder !== undefined && holder !== payoutId(payout)) {
    return { ...facts, contradiction: `the payment ${paymentId} belongs to payout ${holder}` };
  }
  const pay = await deps.openPay();
  const answer = await readPayment(pay, paymentId);
  const reading = readLookUpAnswer(answer, payout, { ...pay.rules, paymentId });
  const payments = await askedPayments(deps.ledger, payout);
  const isOfFormerQuote = payments.some((asked) => asked.quoteId === paymentId && paymentId !== payout.quoteId);
  const found = { exchange: exchangeOf(answer), pay, isOfFormerQuote };
  const ofAnother = await wordsOfAnother(deps, payout, reading);
  if (ofAnother !== undefined) return { ...facts, contradiction: ofAnother };
  if (!('payment' in reading)) return { ...facts, ...notShown(payout, paymentId, reading) };
  const shown = asNamed(payout, { reading, found });
  if (shown.contradiction !== undefined) return { ...facts, ...shown };
  const beside = await besideNamed({ ...deps, pay }, payout, { named: reading.payment, payments });
  const words = [...(shown.words ?? []), ...beside.words];
  const twin = hasFailed(reading.payment) ? [] : await paidUnderReference(deps.ledger, payout);
  return { ...facts, ...shown, ...beside, words, caveats: [...(shown.caveats ?? []), ...beside.caveats, ...twin] };
}

/** What a look-up says that does not show the payment which people name. */
function notShown(
  payout: Payout,
  paymentId: string,
  reading: Exclude<LookUpReading, { payment: PaymentReply }>,
): Partial<Findings> {
  const isGone = reading.kind === 'not-found' || reading.isLasting;
  if (isGone && isForgotten(payout, paymentId)) return { words: [payout.reason ?? ''] };
  if (reading.kind === 'not-found') return { contradiction: `the service knows no payment ${paymentId}` };
  return { contradiction: contradictionOfSilence(payout, { ...reading, paymentId }) };
}

/** What the service has for the payout's other quotes, where people name one payment of it. */
async function besideNamed(
  { ledger, pay }: Pick<EvidenceDeps, 'ledger'> & { readonly pay: PayDeps },
  payout: Payout,
  { named, payments }: { readonly named: PaymentReply; readonly payments: readonly AskedPayment[] },
): Promise<Pick<Findings, 'words' | 'caveats' | 'contradiction'>> {
  const words: string[] = [];
  const caveats: string[] = [];
  const isOwnId = hasOwnId(pay, (await pay.payouts.read(payout)).disproved);
  for (const { quoteId, paymentId } of payments) {
    if (paymentId === named.paymentId) continue;
    const reading = readLookUpAnswer(await readPayment(pay, paymentId), payout, { ...pay.rules, paymentId });
    if (reading.kind === 'nothing') {
      caveats.push(await caveatOfSilence(pay, payout, { ...reading, paymentId }));
      continue;
    }
    if ((await wordsOfAnother({ ledger }, payout, reading)) !== undefined) continue;
    if (reading.kind === 'not-found') {
      if (isOwnId && paymentId === payout.quoteId)
        words.push(`${foundNothing({ quoteId, paymentId }, reading.date)}: it may be paid too`);
      continue;
    }
    const shown = `the service also has ${paymentId === quoteId ? 'a payment for its quote' : 'the payment'} ${paymentId}, which is ${reading.payment.paymentState ?? 'without a state'}`;
    if (hasFailed(reading.payment)) continue;
    if (hasFailed(named)) return { words, caveats, contradiction: `${shown}: settle it as paid by that payment` };
    caveats.push(`${shown}: it may have been paid twice`);
  }
  return { words, caveats };
}

function shownReference({ paymentId, paymentState, internalId }: PaymentReply, whose: 'its' | 'another'): string {
  const reference = internalId === null ? 'shows no reference' : `has ${whose} reference, ${internalId}`;
  return `the payment ${paymentId} is ${paymentState ?? 'without a state'} and ${reference}`;
}

/** What a payment that people name shows. One that is not what we asked for they may settle as it is shown, once that is known. */
function asNamed(
  payout: Payout,
  {
    reading,
    found,
  }: {
    reading: Extract<LookUpReading, { payment: PaymentReply }>;
    found: Omit<PaymentFound, 'payment' | 'isAsShown'>;
  },
): Partial<Findings> {
  const { payment } = reading;
  if (reading.kind === 'found') return { words: [shownReference(payment, 'its')], payment: { ...found, payment } };
  if (reading.kind === 'other-reference')
    return { caveats: [shownReference(payment, 'another')], payment: { ...found, payment } };
  const shows = `the payment ${payment.paymentId} shows ${reading.evidence}`;
  if (payout.reasonCode !== 'E_BREACH') return { contradiction: shows };
  return { words: [`${shows}: it is settled as it is shown`], payment: { ...found, payment, isAsShown: true } };
}

/** Whether it is the payment that the service said it made, and does not know any more. */
export function isForgotten(payout: Payout, paymentId: string): boolean {
  return payout.reasonCode === 'E_PAYMENT_GONE' && paymentId === (payout.paymentId ?? payout.quoteId);
}

async function readPayment(pay: PayDeps, id: string): ReturnType<PayDeps['service']['readPayment']> {
  try {
    return await pay.service.readPayment(id);
  } catch (error) {
    if (error instanceof TokenRefused || error instanceof TokenUnavailable) {
      return { kind: 'not-sent', reason: error.message, certificate: false };
    }
    throw error;
  }
}

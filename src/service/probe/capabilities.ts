import type { Capability } from '../../config/config.ts';
import type { Finding, Question } from './questions.ts';
import { type Evidence, paymentsOf, signOfAnother, signOfSecond, trialsOf } from './seen.ts';

/** Whether a capability holds, and what says so. */
export interface FoundCapability {
  readonly holds: boolean;
  readonly evidence: string;
}
export type FoundCapabilities = Readonly<Record<Capability, FoundCapability>>;

/** What the evidence says of the four capabilities. What is not known does not hold. */
export function judgeCapabilities(evidence: Evidence, findings: readonly Finding[]): FoundCapabilities {
  return {
    'payment-id-is-quote-id': judgeIds(evidence),
    'expired-quote-refused': restOn(findings, ['P5']),
    'one-payment-per-quote': judgeOnePayment(evidence, findings),
    'payment-visible-in-time': restOn(findings, ['P6']),
  };
}

/** Holds if each of the questions was answered with yes. */
function restOn(findings: readonly Finding[], questions: readonly Question[]): FoundCapability {
  const concerned = findings.filter(({ question }) => questions.includes(question));
  return {
    holds: concerned.length === questions.length && concerned.every(({ verdict }) => verdict === 'yes'),
    evidence: concerned.map(({ question, conclusion, seen }) => `${question}: ${conclusion} (${seen})`).join('; '),
  };
}

function judgeIds(evidence: Evidence): FoundCapability {
  const paid = trialsOf(evidence).filter((trial) => paymentsOf(trial).length > 0);
  if (paid.length === 0) return { holds: false, evidence: 'no payment was made' };
  const other = paid.filter((trial) => paymentsOf(trial).some(({ paymentId }) => paymentId !== trial.quoteId));
  if (other.length > 0)
    return { holds: false, evidence: `${other.length} of ${paid.length} payments had another id than their quotes` };
  const found = paid.filter(({ quoteId, lookUps }) => lookUps.some(({ payment }) => payment?.paymentId === quoteId));
  return {
    holds: found.length === paid.length,
    evidence: `${paid.length} payments had their quotes’ ids; ${found.length} were found by them`,
  };
}

/** Rests on P1 to P3, and on no quote of the whole probe showing a second payment. */
function judgeOnePayment(evidence: Evidence, findings: readonly Finding[]): FoundCapability {
  const rested = restOn(findings, ['P1', 'P2', 'P3']);
  const signs = [
    ...trialsOf(evidence).map(signOfSecond),
    ...[evidence.twice, evidence.failing].map((asked) => ('seen' in asked ? signOfAnother(asked.seen) : undefined)),
  ].filter((sign) => sign !== undefined);
  if (signs.length === 0) return rested;
  return { holds: false, evidence: `a quote was paid twice: ${signs.join(', ')}; ${rested.evidence}` };
}

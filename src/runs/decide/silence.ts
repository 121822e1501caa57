import type { PayDeps } from '../../pay/deps.ts';
import type { Payout } from '../../payout.ts';
import { Refusal } from '../../refusal.ts';

/** Answers about one payment that another question does not change. */
const DEFINITE = /^HTTP_(400|403|404|410)( |$)/;

/**
 * What people weigh where the service answers about other payments and does not show this one, such as to another client id. Throws a
 * Refusal (unavailable) where it may answer later.
 */
export async function caveatOfSilence(
  pay: Pick<PayDeps, 'canary'>,
  payout: Payout,
  { paymentId, reason }: { paymentId: string; reason: string },
): Promise<string> {
  if (!DEFINITE.test(reason) || !(await pay.canary.sings(paymentId))) throw refuseSilence(payout, reason);
  return `the service answers with status ${statusOf(reason)} for ${paymentId}: it may have been paid, although payrun cannot see it`;
}

/** Why people cannot settle a payout by a payment that is not shown. Throws a Refusal (unavailable) where it may be shown later. */
export function contradictionOfSilence(
  payout: Payout,
  { paymentId, reason }: { paymentId: string; reason: string },
): string {
  if (!DEFINITE.test(reason)) throw refuseSilence(payout, reason);
  if (reason === 'HTTP_400') return `the service takes ${paymentId} for no payment's id`;
  return `the service shows no payment ${paymentId}: it answers with status ${statusOf(reason)}`;
}

function statusOf(reason: string): string {
  return reason.slice('HTTP_'.length);
}

export function refuseSilence(payout: Payout, reason: string): Refusal {
  const silence = reason.startsWith('HTTP_') ? `it answered with status ${statusOf(reason)}` : reason;
  return new Refusal(
    `The service could not be asked about the payout of ${payout.row.reference}: ${silence}.`,
    'Nothing was decided. Try again when the service answers.',
    { kind: 'unavailable' },
  );
}

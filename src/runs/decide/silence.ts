import type { PayDeps } from '../../pay/deps.ts';
import type { LookUpReading } from '../../pay/look-up/look-up-answer.ts';
import type { Payout } from '../../payout.ts';
import { Refusal } from '../../refusal.ts';

type Silence = Extract<LookUpReading, { kind: 'nothing' }>;

/**
 * What people weigh where the service answers about other payments and does not show this one, such as to another client id. Throws a
 * Refusal (unavailable) where it may answer later.
 */
export async function caveatOfSilence(
  pay: Pick<PayDeps, 'canary'>,
  payout: Payout,
  { paymentId, reason, isLasting }: Silence & { readonly paymentId: string },
): Promise<string> {
  if (!isLasting || !(await pay.canary.sings(paymentId))) throw refuseSilence(payout, reason);
  return `the service shows no payment ${paymentId}, for ${inWords(reason)}: it may have been paid, although payrun cannot see it`;
}

/** Why people cannot settle a payout by a payment that is not shown. Throws a Refusal (unavailable) where it may be shown later. */
export function contradictionOfSilence(
  payout: Payout,
  { paymentId, reason, isLasting }: Silence & { readonly paymentId: string },
): string {
  if (!isLasting) throw refuseSilence(payout, reason);
  if (reason === 'HTTP_400') return `the service takes ${paymentId} for no payment's id`;
  return `the service shows no payment ${paymentId}: ${inWords(reason)}`;
}

export function refuseSilence(payout: Payout, reason: string): Refusal {
  return new Refusal(
    `The service could not be asked about the payout of ${payout.row.reference}: ${inWords(reason)}.`,
    'Nothing was decided. Try again when the service answers.',
    { kind: 'unavailable' },
  );
}

function inWords(reason: string): string {
  return reason.startsWith('HTTP_') ? `it answers with status ${reason.slice('HTTP_'.length)}` : reason;
}

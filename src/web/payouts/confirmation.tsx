import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import { outcomeOf, type Payout } from '../../payout.ts';
import { Amount } from '../parts/money.tsx';
import { Time } from '../parts/time.tsx';
import { Problem } from '../problem.ts';

const WORDS = {
  paid: 'The payment below was made.',
  pending: 'The payment below is under way. This does not confirm that it arrived.',
  returned: 'The payment below was made and came back.',
} as const;

type Confirmed = keyof typeof WORDS;

function isConfirmed(outcome: string): outcome is Confirmed {
  return Object.hasOwn(WORDS, outcome);
}

/**
 * What a beneficiary is shown of one payment, without its cost. Throws a Problem (409) for a payout of which there is no
 * payment.
 */
export function Confirmation({ payout, now }: { readonly payout: Payout; readonly now: number }) {
  const { row, paymentId } = payout;
  const outcome = outcomeOf(payout.state);
  if (!isConfirmed(outcome) || paymentId === null) {
    throw new Problem(
      409,
      `There is no payment of ${row.reference} to confirm.`,
      'Its page shows what happened to it.',
    );
  }
  const asked = row.amountType === 'DESTINATION_AMOUNT' ? row.amount : null;
  const arriving = payout.destinationAmount ?? asked;
  return (
    <>
      <p>{WORDS[outcome]}</p>
      <dl class="facts">
        <dt>Reference</dt>
        <dd>{escapeUnseen(row.reference)}</dd>
        <dt>Amount</dt>
        <dd>{arriving === null ? `not known yet, in ${row.destinationCurrency}` : <Amount money={arriving} />}</dd>
        <dt>Payment</dt>
        <dd>
          <code>{escapeUnseen(paymentId)}</code>
        </dd>
        <dt>State</dt>
        <dd>{escapeUnseen(payout.paymentState ?? outcome)}</dd>
        <dt>Beneficiary</dt>
        <dd>
          <code>{row.beneficiaryIdentityId}</code>
        </dd>
        {payout.sentAt === null ? null : (
          <>
            <dt>Sent</dt>
            <dd>
              <Time at={payout.sentAt} />
            </dd>
          </>
        )}
        {payout.settledAt === null ? null : (
          <>
            <dt>Final since</dt>
            <dd>
              <Time at={payout.settledAt} />
            </dd>
          </>
        )}
        <dt>This page was made</dt>
        <dd>
          <Time at={now} />
        </dd>
      </dl>
    </>
  );
}

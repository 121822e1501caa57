import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import type { Payout } from '../../payout.ts';
import type { Asked, Decided } from '../../runs/decide/decide.ts';
import { Form } from '../parts/form.tsx';
import { Identity } from '../parts/identity.tsx';
import { Amount } from '../parts/money.tsx';
import { STATE_WORDS } from '../parts/outcome-words.ts';
import { WithTimes } from '../parts/time.tsx';
import { hrefOfRow } from '../payouts/find-row.ts';

/** What came of a decision, with what the service said. */
export function DecidedPage({ payout, asked, decided }: { payout: Payout; asked: Asked; decided: Decided }) {
  return (
    <section class="decided">
      <p class="decided-result">
        {decided.result === 'to-read' ? 'Nothing was decided. Read what speaks against it before you confirm.' : null}
        {decided.result === 'proposed' ? 'Proposed. It is done once another person has confirmed it.' : null}
        {decided.result === 'done' ? `Confirmed by two people. It ${STATE_WORDS[payout.state]}.` : null}
      </p>
      <Told payout={payout} />
      {decided.evidence.length === 0 ? null : (
        <>
          <h2>What was found</h2>
          <ul>
            {decided.evidence.map((words) => (
              <li key={words}>
                <WithTimes text={escapeUnseen(words)} />
              </li>
            ))}
          </ul>
        </>
      )}
      {decided.digest === undefined ? null : (
        <ConfirmAfterReading payout={payout} asked={asked} digest={decided.digest} />
      )}
      <Onwards payout={payout} />
    </section>
  );
}

/** Of which payout it is said. */
function Told({ payout: { row, beneficiaryName } }: { payout: Payout }) {
  return (
    <dl class="card card-body facts">
      <dt>Reference</dt>
      <dd>{escapeUnseen(row.reference)}</dd>
      <dt>Beneficiary</dt>
      <dd>
        <Identity id={row.beneficiaryIdentityId} name={beneficiaryName} />
      </dd>
      <dt>Amount</dt>
      <dd>
        <Amount money={row.amount} />
      </dd>
    </dl>
  );
}

interface ToConfirm {
  readonly payout: Payout;
  readonly asked: Asked;
  readonly digest: string;
}

/** Confirms what the page shows: where something else speaks against it meanwhile, that is shown first. */
function ConfirmAfterReading({ payout, asked, digest }: ToConfirm) {
  const { decision, paymentId, reason } = asked;
  return (
    <Form action={`${hrefOfRow({ run: payout.runId, line: payout.line })}/decide`}>
      <input type="hidden" name="decision" value={decision} />
      <input type="hidden" name="paymentId" value={paymentId} />
      <input type="hidden" name="reason" value={reason} />
      <input type="hidden" name="read" value={digest} />
      <button type="submit" class="btn btn-danger">
        Confirm it all the same
      </button>
    </Form>
  );
}

function Onwards({ payout }: { payout: Payout }) {
  return (
    <p>
      <a href={hrefOfRow({ run: payout.runId, line: payout.line })}>Back to the payout</a> ·{' '}
      <a href="/to-settle">What else is to settle</a>
    </p>
  );
}

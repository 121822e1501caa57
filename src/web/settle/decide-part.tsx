import { isSamePerson } from '../../access/same-person.ts';
import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import type { Payout, Proposal } from '../../payout.ts';
import { type Choice, choicesOf, type DecisionRules, indicationsOf } from '../../runs/decide/choices.ts';
import { isCancellable } from '../../runs/decide/control.ts';
import { Field, useField, Wrong } from '../parts/fields.tsx';
import { Form } from '../parts/form.tsx';
import { Time, WithTimes } from '../parts/time.tsx';
import { hrefOfRow } from '../payouts/find-row.ts';
import type { Person } from '../web.ts';
import { DECISION_WORDS, proposalWords } from './decisions.ts';

interface DecideProps {
  readonly payout: Payout;
  readonly who: Person | null;
  readonly rules: DecisionRules;
}

/** What people may decide of a payout, with what speaks for and against a payment, and forms for whoever may. */
export function DecidePart({ payout, who, rules }: DecideProps) {
  const { proposal } = payout;
  const choices = choicesOf(payout, rules);
  const isDecidable = choices.some(({ whyNot }) => whyNot === null);
  if (proposal === null && !isDecidable && !isCancellable(payout)) return null;
  const maySettle = who?.may('settle') === true;
  return (
    <section id="settle">
      <h2>Settle</h2>
      <Indications payout={payout} rules={rules} />
      {proposal === null ? null : <Proposed payout={payout} proposal={proposal} who={who} />}
      {maySettle && isDecidable ? (
        <ProposeForm payout={payout} choices={choices} isMain={!mayConfirm(proposal, who)} />
      ) : null}
      {isCancellable(payout) && who?.may('cancel') === true ? <CancelForm payout={payout} /> : null}
      {maySettle ? null : <p class="hint">Your role may look at it, and not decide.</p>}
    </section>
  );
}

/** What speaks for and against a payment. */
export function Indications({ payout, rules }: Pick<DecideProps, 'payout' | 'rules'>) {
  const { paid, notPaid } = indicationsOf(payout, rules);
  return (
    <div class="indications">
      <Words title="It may have been paid:" words={paid} />
      <Words title="It may not have been paid:" words={notPaid} />
    </div>
  );
}

function Words({ title, words }: { title: string; words: readonly string[] }) {
  if (words.length === 0) return null;
  return (
    <div>
      <p>{title}</p>
      <ul>
        {words.map((text) => (
          <li key={text}>
            <WithTimes text={escapeUnseen(text)} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function mayConfirm(proposal: Proposal | null, who: Person | null): boolean {
  return proposal !== null && who?.may('settle') === true && !isSamePerson(proposal.by, who.name);
}

function Proposed({ payout, proposal, who }: { payout: Payout; proposal: Proposal; who: Person | null }) {
  const isOwn = who !== null && isSamePerson(proposal.by, who.name);
  return (
    <div class="proposal">
      <p>
        <b>{escapeUnseen(proposal.by)}</b> proposed {escapeUnseen(proposalWords(proposal))} on <Time at={proposal.at} />
        : {escapeUnseen(proposal.reason)}
      </p>
      {isOwn ? <p>Your proposal waits for another person.</p> : null}
      {mayConfirm(proposal, who) ? (
        <Form
          action={`${hrefOfRow({ run: payout.runId, line: payout.line })}/decide`}
          name={`confirm ${proposal.decision} of ${proposal.at}`}
        >
          <input type="hidden" name="decision" value={proposal.decision} />
          <input type="hidden" name="paymentId" value={proposal.paymentId} />
          <Reason id="confirm-reason" />
          <button type="submit" class="btn btn-primary">
            Confirm {escapeUnseen(proposalWords(proposal))}
          </button>
        </Form>
      ) : null}
    </div>
  );
}

interface ProposeProps {
  readonly payout: Payout;
  readonly choices: readonly Choice[];
  /** Whether nothing stands there that is to be confirmed first. */
  readonly isMain: boolean;
}

function ProposeForm({ payout, choices, isMain }: ProposeProps) {
  return (
    <Form action={`${hrefOfRow({ run: payout.runId, line: payout.line })}/decide`} class="propose">
      <Choices choices={choices} />
      {choices.some(({ decision, whyNot }) => decision === 'paid' && whyNot === null) ? (
        <Field label="Payment id, if it was paid" name="paymentId" id="propose-payment" maxLength={128} />
      ) : null}
      <Reason id="propose-reason" />
      <button type="submit" class={isMain ? 'btn btn-primary' : 'btn'}>
        Propose
      </button>
      <p class="hint">The service is asked first, both times: what it says counts for more than what people say.</p>
    </Form>
  );
}

function Choices({ choices }: { choices: readonly Choice[] }) {
  const { typed, problem, control } = useField({ name: 'decision' });
  const { id, name, autofocus: isFirst, ...described } = control;
  return (
    <fieldset role="radiogroup" {...described} class="form-fieldset">
      <legend class="form-label">What becomes of it? One person proposes, another one confirms.</legend>
      <Wrong id={id} words={problem} />
      {choices.map(({ decision, whyNot }, index) => (
        <p key={decision}>
          <label>
            <input
              type="radio"
              name={name}
              value={decision}
              required
              disabled={whyNot !== null}
              checked={decision === typed}
              autofocus={isFirst === true && index === choices.findIndex((one) => one.whyNot === null)}
            />{' '}
            {DECISION_WORDS[decision]}
          </label>
          {whyNot === null ? null : (
            <small class="hint">
              {' '}
              not now: <WithTimes text={whyNot} />
            </small>
          )}
        </p>
      ))}
    </fieldset>
  );
}

function CancelForm({ payout }: { payout: Payout }) {
  return (
    <Form action={`${hrefOfRow({ run: payout.runId, line: payout.line })}/cancel`} class="cancel">
      <Reason id="cancel-reason" />
      <button type="submit" class="btn btn-outline-danger">
        Cancel this payout
      </button>
      <p class="hint">Nothing was sent for it, so one person is enough.</p>
    </Form>
  );
}

function Reason({ id }: { id: string }) {
  return (
    <Field label="Reason" name="reason" id={id} required maxLength={200} hint="For the history and the audit log." />
  );
}

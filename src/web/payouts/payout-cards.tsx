import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import { isOver, type Payout, type PayoutState, type Run } from '../../payout.ts';
import { reasonWords } from '../../runs/decide/reason-words.ts';
import type { Story } from '../../runs/story.ts';
import { shownAmountsIn, shownDecimal } from '../parts/figures.ts';

/** To whom how much goes, from where, and what it costs. */
export function PayoutCards({ story, payout }: { story: Story; payout: Payout | null }) {
  return (
    <div class="cards">
      <div class="card card-body">
        <h2 class="label">From → to</h2>
        <Sides story={story} />
        <Costs story={story} />
      </div>
      <div class="card card-body">
        <h2 class="label">Beneficiary</h2>
        <Party id={story.beneficiaryIdentityId} name={story.beneficiaryName} />
      </div>
      {story.originatorIdentityId === null ? null : (
        <div class="card card-body">
          <h2 class="label">On behalf of</h2>
          <Party id={story.originatorIdentityId} name={payout?.originatorName?.name ?? null} />
        </div>
      )}
    </div>
  );
}

function Sides({ story }: { story: Story }) {
  const { amount, amountType, sourceAmount, destinationAmount } = story;
  const isArriving = amountType === 'DESTINATION_AMOUNT';
  const leaves = sourceAmount ?? (isArriving ? null : amount);
  const arrives = destinationAmount ?? (isArriving ? amount : null);
  return (
    <p class="figure">
      {sideWords(leaves, story.sourceCurrency)} → {sideWords(arrives, story.destinationCurrency)}
    </p>
  );
}

function sideWords(amount: string | null, currency: string | null): string {
  return escapeUnseen([amount === null ? '' : shownDecimal(amount), currency ?? '?'].join(' ').trim());
}

function Costs({ story: { fees, rate } }: { story: Story }) {
  const told = fees.map((fee) => `${shownDecimal(fee.amount)} ${fee.currency}`).join(' and ');
  return (
    <p class="hint">
      {told === '' ? 'No fee is known yet.' : `and a fee of ${told}`}
      {rate === null ? null : ` at a rate of ${rate}`}
    </p>
  );
}

function Party({ id, name }: { id: string | null; name: string | null }) {
  if (id === null) return <p class="hint">none is named</p>;
  return (
    <>
      {name === null ? <p class="hint">Its name is not known.</p> : <p class="figure">{escapeUnseen(name)}</p>}
      <p>
        <code>{escapeUnseen(id)}</code>
      </p>
    </>
  );
}

/** Why a row stands as it does, and what there is to do about it; nothing of one that was paid and has no reason. */
export function WhatNext({ story, payout, run }: { story: Story; payout: Payout | null; run: Run }) {
  if (story.state === 'completed' && story.reasonCode === null && story.reason === null) return null;
  return (
    <div class="proposal">
      <Why story={story} />
      <p>
        <Next payout={payout} run={run} />
      </p>
    </div>
  );
}

function Why({ story: { reasonCode, reason } }: { story: Story }) {
  const words = [reasonCode === null ? undefined : reasonWords(reasonCode), reason].filter((part) => part);
  return words.length === 0 ? null : <p>Why: {escapeUnseen(shownAmountsIn(words.join(': ')))}</p>;
}

const MAY_BE_SENT =
  'Wait, and do not pay it another way: it may have been sent, and payrun keeps looking what came of it.';
/** Of the other states the payout may be tried again. */
const NEXT: Readonly<Partial<Record<PayoutState, string>>> = {
  ready: 'Nothing to do: it is paid when its turn comes.',
  armed: MAY_BE_SENT,
  quoted: MAY_BE_SENT,
  unknown: MAY_BE_SENT,
  held: 'Two people decide what becomes of it, below.',
  accepted: 'Nothing to do: the service has the payment, and payrun looks how it ends.',
  completed: 'Nothing to do.',
};

function Next({ payout, run }: { payout: Payout | null; run: Run }) {
  if (payout === null) return <TryAgain run={run} />;
  const { state, rejectionConfirmed, quoteId } = payout;
  if (state === 'ready' && run.state !== 'paying') return <>Its run is not being paid now.</>;
  if (state === 'rejected' && quoteId !== null && !rejectionConfirmed) {
    return <>Wait: payrun looks once more whether it was paid all the same. Then it may be handed in again.</>;
  }
  const words = NEXT[state];
  return words === undefined ? <TryAgain run={run} /> : <>{words}</>;
}

function TryAgain({ run }: { run: Run }) {
  if (run.purgedAt !== null) return <>Correct what is wrong, and hand the payout in again.</>;
  if (!isOver(run))
    return <>Correct what is wrong, and hand it in again once its run is over: the run has a file for that then.</>;
  return (
    <>
      Correct what is wrong in <a href={`/runs/${run.id}/retry-file`}>the file of what may be tried again</a>, and hand
      that in.
    </>
  );
}

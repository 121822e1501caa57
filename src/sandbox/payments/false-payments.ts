import { z } from 'zod';
import { type Answer, jsonAnswer } from '../answers.ts';

/* What a look-up shows of a payment that is not so. A refusal stays as it is. */

const paymentBody = z.looseObject({
  paymentId: z.string(),
  originator: z.looseObject({ sourceAmount: z.number() }),
  destination: z.looseObject({ destinationAmount: z.number() }),
});
type PaymentBody = z.output<typeof paymentBody>;

export function otherId(answer: Answer, paymentId: string): Answer {
  return changed(answer, () => ({ paymentId }));
}

export function otherAmounts(answer: Answer): Answer {
  return changed(answer, ({ originator, destination }) => ({
    originator: { ...originator, sourceAmount: originator.sourceAmount + 1 },
    destination: { ...destination, destinationAmount: destination.destinationAmount + 1 },
  }));
}

export function otherBeneficiary(answer: Answer, beneficiaryIdentityId: string): Answer {
  return changed(answer, ({ destination }) => ({ destination: { ...destination, beneficiaryIdentityId } }));
}

export function earlierState(answer: Answer): Answer {
  return changed(answer, () => ({ paymentState: 'INITIATED', errors: undefined }));
}

export function unknownState(answer: Answer): Answer {
  return changed(answer, () => ({ paymentState: 'UNDER_REVIEW' }));
}

function changed(answer: Answer, change: (payment: PaymentBody) => object): Answer {
  if (answer.status !== 200) return answer;
  const payment = paymentBody.parse(JSON.parse(answer.body));
  return jsonAnswer(answer.status, { ...payment, ...change(payment) }, answer.headers);
}

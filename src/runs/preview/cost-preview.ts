import type { Clock } from '../../clock.ts';
import { type Cost, costOf } from '../../pay/quote/cost.ts';
import { readQuoteAnswer } from '../../pay/quote/quote-answer.ts';
import type { PayoutRow } from '../../payout.ts';
import { Refusal } from '../../refusal.ts';
import { type BodyDefaults, quoteBody } from '../../service/bodies.ts';
import type { Service } from '../../service/client.ts';

const TRIES_MAX = 5;
const AGAIN_MS = 1000;

export interface CostPreviewDeps {
  readonly service: Pick<Service, 'quote'>;
  readonly defaults: BodyDefaults;
  readonly clock: Clock;
}

/**
 * What a row costs by a quote that is never armed; null where the service gives none that could be: then the payout comes to
 * nothing when its turn comes, or a person decides. Throws a Refusal (unavailable) when the service does not say in a few tries.
 */
export async function previewCost({ service, defaults, clock }: CostPreviewDeps, row: PayoutRow): Promise<Cost | null> {
  let reason = '';
  for (let tries = 1; tries <= TRIES_MAX; tries++) {
    const reading = readQuoteAnswer(await service.quote(quoteBody(row, defaults)), row);
    if (reading.kind === 'usable') return costOf(reading.quote, row);
    if (reading.kind === 'held' || reading.kind === 'rejected') return null;
    reason = reading.reason;
    if (reading.kind === 'pause') break;
    if (tries < TRIES_MAX) await clock.sleep(AGAIN_MS * tries);
  }
  throw new Refusal(
    `The cost of line ${row.line} is not known: ${reason}.`,
    'Nothing was paid. Submit the same file again when the service answers: payrun carries it on.',
    { kind: 'unavailable' },
  );
}

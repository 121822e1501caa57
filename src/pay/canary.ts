import type { Clock } from '../clock.ts';
import type { Answer } from '../service/answer.ts';
import type { Service } from '../service/client.ts';
import { parseErrors, parseIdentities, parsePayment } from '../service/replies.ts';
import { TokenRefused, TokenUnavailable } from '../service/token.ts';

/** A payment is looked for again after this long. */
const HOLDS_MS = 60_000;

/** Why a "not found" does not count, for people. */
export const NO_CANARY = 'it does not show now what it must know, so its "not found" says nothing';

/** Tells a service that knows no payment from a gateway that answers "not found" to everything. */
export interface Canary {
  /** Whether the service showed, within this minute, what it must know (design 3, rule 8). Never throws. */
  sings(): Promise<boolean>;
}

/**
 * Looks up a payment that is known to exist; without one, the token test and the list of identities must answer.
 * `known` gives the id of such a payment.
 */
export function openCanary(deps: {
  readonly service: Pick<Service, 'readPayment' | 'testToken' | 'listIdentities'>;
  readonly known: () => Promise<string | undefined>;
  readonly clock: Pick<Clock, 'monotonic'>;
}): Canary {
  let sangAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<boolean> | undefined;

  async function ask(): Promise<boolean> {
    const askedAt = deps.clock.monotonic();
    const sings = await askService(deps).catch(noToken);
    if (sings) sangAt = askedAt;
    return sings;
  }

  return {
    async sings() {
      if (deps.clock.monotonic() - sangAt < HOLDS_MS) return true;
      asking ??= ask().finally(() => {
        asking = undefined;
      });
      return await asking;
    },
  };
}

async function askService({ service, known }: Parameters<typeof openCanary>[0]): Promise<boolean> {
  const id = await known();
  if (id !== undefined) return showsPayment(await service.readPayment(id), id);
  return isOk(await service.testToken()) && listsIdentities(await service.listIdentities('BENEFICIARY'));
}

function showsPayment(answer: Answer, id: string): boolean {
  return answer.kind === 'answered' && answer.status === 200 && parsePayment(answer.json)?.paymentId === id;
}

function isOk(answer: Answer): boolean {
  return answer.kind === 'answered' && answer.status === 200;
}

/** None at all is a 404 with a code of its own (service-facts, section 6). */
function listsIdentities(answer: Answer): boolean {
  if (answer.kind !== 'answered') return false;
  if (answer.status === 200) return parseIdentities(answer.json) !== undefined;
  return answer.status === 404 && parseErrors(answer.json).some(({ code }) => code === 'USR_103');
}

function noToken(error: unknown): false {
  if (error instanceof TokenRefused || error instanceof TokenUnavailable) return false;
  throw error;
}

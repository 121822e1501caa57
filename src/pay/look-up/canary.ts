import type { Answer } from '../../service/answer.ts';
import type { Service } from '../../service/client.ts';
import { parseErrors, parseIdentities, parsePayment } from '../../service/replies.ts';
import { TokenRefused, TokenUnavailable } from '../../service/token.ts';

/** Why a "not found" does not count, for people. */
export const NO_CANARY = 'it does not show now what it must know, so its "not found" says nothing';

/** What the service shows of what it must know; false: not all of it. */
export type Song = 'payment' | 'rest' | false;

/** Tells a service that knows no payment from a gateway that answers "not found" to everything. */
export interface Canary {
  /**
   * Whether the service shows, after this call, what it must know (architecture.md, rule 8): a payment, or where none is known the
   * rest. `except` is a payment that is itself in doubt. Throws what the ledger throws.
   */
  sings(except?: string): Promise<Song>;
}

interface CanaryDeps {
  readonly service: Pick<Service, 'readPayment' | 'testToken' | 'listIdentities'>;
  /** Ids of some payments that are known to exist; '' for one whose id is not known any more. */
  readonly known: () => Promise<readonly string[]>;
}

/**
 * Looks up payments that are known to exist: one of them has to be found. Only where there is none, the token test and the
 * list of identities must answer. Who asks while an answer is under way shares the next one: one that began before their
 * "not found" came says nothing of it.
 */
export function openCanary(deps: CanaryDeps): Canary {
  let asking: Promise<Song> | undefined;
  let next: Promise<Song> | undefined;

  async function ask(): Promise<Song> {
    return await askService(deps, await deps.known()).catch(noToken);
  }

  function begin(): Promise<Song> {
    asking = ask().finally(() => {
      asking = undefined;
    });
    return asking;
  }

  return {
    async sings(except) {
      if (except !== undefined) {
        const known = (await deps.known()).filter((id) => id !== except);
        return await askService(deps, known).catch(noToken);
      }
      if (asking === undefined) return await begin();
      next ??= asking
        .catch((): Song => false)
        .then(() => {
          next = undefined;
          return begin();
        });
      return await next;
    },
  };
}

async function askService({ service }: CanaryDeps, known: readonly string[]): Promise<Song> {
  for (const id of known) if (id !== '' && showsPayment(await service.readPayment(id), id)) return 'payment';
  if (known.length > 0) return false;
  const isSound = isOk(await service.testToken()) && listsIdentities(await service.listIdentities('BENEFICIARY'));
  return isSound && 'rest';
}

function showsPayment(answer: Answer, id: string): boolean {
  return isOk(answer) && parsePayment(answer.json)?.paymentId === id;
}

function isOk(answer: Answer): answer is ServiceAnswer {
  return isFresh(answer) && answer.status === 200;
}

type ServiceAnswer = Extract<Answer, { kind: 'answered' }>;

/** A cache says nothing of what the service knows now. */
function isFresh(answer: Answer): answer is ServiceAnswer {
  return answer.kind === 'answered' && answer.isFromCache !== true;
}

/** None at all is a 404 with a code of its own. */
function listsIdentities(answer: Answer): boolean {
  if (!isFresh(answer)) return false;
  if (answer.status === 200) return parseIdentities(answer.json) !== undefined;
  return answer.status === 404 && parseErrors(answer.json).some(({ code }) => code === 'USR_103');
}

function noToken(error: unknown): false {
  if (error instanceof TokenRefused || error instanceof TokenUnavailable) return false;
  throw error;
}

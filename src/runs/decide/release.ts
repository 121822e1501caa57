import { isSamePerson } from '../../access/same-person.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { BLOCK_LIST_CHANGED } from '../../ledger/people/approvals.ts';
import { PEOPLE_CHANGED } from '../../ledger/people/people-list.ts';
import { wordStands } from '../../ledger/people/word.ts';
import type { Word } from '../../ledger/seals.ts';
import type { ReleaseResult } from '../../ledger/season/ledger-state.ts';
import { Refusal } from '../../refusal.ts';

const RELEASE_TRIES_MAX = 20;
/** No proposal has it: one that comes in this very moment is not confirmed unseen. */
const NO_SEAL = '-';

/** A halt as it stands, and the proposal to release it, if there is one that holds. */
interface Standing {
  readonly halt: string;
  /** Digests of the lists that the halt names: with its release they hold as whoever releases it has seen them. */
  readonly blockList: string;
  readonly people: string;
  /** Under a true seal, of this halt with the same lists. */
  readonly proposal: { readonly by: string; readonly seal: string } | null;
}

function wordOf(by: string, { halt, blockList, people }: Omit<Standing, 'proposal'>): Word {
  return { act: 'release', by, about: [halt, JSON.stringify([blockList, people])] };
}

/** A proposal that does not hold is taken away. */
async function readStanding(ledger: Ledger): Promise<Standing> {
  const { state, approvals, people } = ledger;
  const { halt, releaseBy, releaseSeal } = await state.read();
  const seen = {
    halt: halt ?? '',
    blockList: halt?.includes(BLOCK_LIST_CHANGED) === true ? await approvals.blockListDigest() : '',
    people: halt?.includes(PEOPLE_CHANGED) === true ? await people.digest() : '',
  };
  if (releaseBy === null) return { ...seen, proposal: null };
  const stands = await wordStands(ledger, releaseSeal, wordOf(releaseBy, seen));
  if (stands) return { ...seen, proposal: { by: releaseBy, seal: releaseSeal } };
  await state.voidRelease();
  return { ...seen, proposal: null };
}

/** Without this a list that was changed in Redis would halt everything again at once. */
async function believeLists({ approvals, people }: Ledger, standing: Standing): Promise<void> {
  if (standing.blockList !== '') await approvals.sealBlockList(standing.blockList);
  if (standing.people !== '') await people.sealAsTheyStand(standing.people);
}

/** Proposes to release a halt, or confirms what another person proposed: this halt, with the same lists. */
export async function releaseHalt(
  { ledger }: { readonly ledger: Ledger },
  actor: string,
): Promise<Exclude<ReleaseResult, 'changed'>> {
  for (let tries = 0; tries < RELEASE_TRIES_MAX; tries++) {
    const standing = await readStanding(ledger);
    const { halt, proposal } = standing;
    if (proposal !== null && !isSamePerson(proposal.by, actor)) await believeLists(ledger, standing);
    const own = ledger.seals.word(wordOf(actor, standing));
    const result = await ledger.state.release(actor, { own, seen: proposal?.seal ?? NO_SEAL });
    if (result === 'changed') continue;
    const act = { actor, target: 'ledger' };
    if (result === 'proposed')
      await ledger.audit.append({ ...act, action: 'ledger.release-proposed', details: { halt } });
    if (result === 'released')
      await ledger.audit.append({
        ...act,
        action: 'ledger.released',
        details: { halt, proposedBy: proposal?.by ?? '' },
      });
    return result;
  }
  throw new Refusal('Others release or halt at this moment.', 'Look again, and try again.', { kind: 'unavailable' });
}

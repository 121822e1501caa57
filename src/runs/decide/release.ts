import { isSamePerson } from '../../access/same-person.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { BLOCK_LIST_CHANGED } from '../../ledger/people/approvals.ts';
import { PEOPLE_CHANGED } from '../../ledger/people/people-list.ts';
import type { ReleaseResult } from '../../ledger/season/ledger-state.ts';
import { Refusal } from '../../refusal.ts';

const RELEASE_TRIES_MAX = 20;

/** Digests of the lists that the halt names: with its release they hold as whoever releases it has seen them. */
async function digestsOf({ approvals, people }: Ledger, halt: string): Promise<Record<'blockList' | 'people', string>> {
  return {
    blockList: halt.includes(BLOCK_LIST_CHANGED) ? await approvals.blockListDigest() : '',
    people: halt.includes(PEOPLE_CHANGED) ? await people.digest() : '',
  };
}

/** Proposes to release a halt, or confirms what another person proposed: this halt, with the same lists, under a true seal. */
export async function releaseHalt(
  { ledger }: { readonly ledger: Ledger },
  actor: string,
): Promise<Exclude<ReleaseResult, 'changed'>> {
  for (let tries = 0; tries < RELEASE_TRIES_MAX; tries++) {
    const { halt, releaseBy, releaseSeal } = await ledger.state.read();
    const digests = await digestsOf(ledger, halt ?? '');
    const words = { halt: halt ?? '', lists: JSON.stringify(digests) };
    const isTrue = releaseBy !== null && ledger.seals.judgeRelease(releaseSeal, { by: releaseBy, ...words }) === 'true';
    if (releaseBy !== null && !isTrue) await ledger.state.voidRelease();
    // Without this a list that was changed in Redis would halt everything again at once.
    if (isTrue && !isSamePerson(releaseBy, actor)) {
      if (digests.blockList !== '') await ledger.approvals.sealBlockList(digests.blockList);
      if (digests.people !== '') await ledger.people.sealAsTheyStand(digests.people);
    }
    const seals = { own: ledger.seals.release({ by: actor, ...words }), seen: isTrue ? releaseSeal : '' };
    const result = await ledger.state.release(actor, seals);
    if (result === 'changed') continue;
    if (result === 'proposed' || result === 'released') {
      await ledger.audit.append({
        actor,
        action: result === 'proposed' ? 'ledger.release-proposed' : 'ledger.released',
        target: 'ledger',
        details: { halt: halt ?? '', ...(result === 'released' ? { proposedBy: releaseBy ?? '' } : {}) },
      });
    }
    return result;
  }
  throw new Refusal('Others release or halt at this moment.', 'Look again, and try again.', { kind: 'unavailable' });
}

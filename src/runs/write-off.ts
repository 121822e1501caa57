import type { Ledger } from '../ledger/ledger.ts';
import { LOOK_DAILY_MS } from '../pay/due.ts';
import type { PayoutState } from '../payout.ts';
import { isSamePerson } from '../people/same-person.ts';
import { EXIT, Refusal } from '../refusal.ts';

/** States of payouts that the lost directory may have armed without this Redis knowing of it. */
const IN_DOUBT: readonly PayoutState[] = ['ready', 'quoted'];

export interface WrittenOff {
  readonly result: 'proposed' | 'done';
  /** Payouts that are held now. */
  readonly held: number;
  /** Data directories that keep the season closed still. */
  readonly missing: readonly string[];
}

/**
 * Gives up a data directory that does not come back, by two people (design 3, rule 4): everything is halted, and each
 * payout that it may have armed is held. May be run again after a crash.
 */
export async function writeOffDataDir(
  { ledger }: { ledger: Ledger },
  dataDirId: string,
  { actor, reason }: { actor: string; reason: string },
): Promise<WrittenOff> {
  const proposedBy = await ledger.recovery.proposedWriteOff(dataDirId);
  if (proposedBy !== null && isSamePerson(proposedBy, actor)) throw refuse(`${proposedBy} has proposed this`);
  const result = await ledger.recovery.writeOff(dataDirId, actor);
  const details = { dataDir: dataDirId, reason };
  if (result === 'proposed') {
    await ledger.audit.append({ actor, action: 'data-dir.write-off-proposed', target: 'ledger', details });
    return { result, held: 0, missing: [] };
  }
  if (result !== 'agreed') throw refuse(WHY_NOT[result]);
  const held = await holdInDoubt(ledger, `${proposedBy ?? ''} and ${actor}`);
  const missing = await ledger.recovery.forgetDir(dataDirId);
  await ledger.audit.append({
    actor,
    action: 'data-dir.written-off',
    target: 'ledger',
    details: { ...details, held: String(held) },
  });
  return { result: 'done', held, missing };
}

const WHY_NOT = {
  'same-person': 'the same person has proposed this',
  open: 'nothing is missing: payments may be sent',
  unknown: 'no directory of that id ever armed anything here',
  compared: 'that directory came back and has compared its intent logs',
} as const;

function refuse(why: string): Refusal {
  return new Refusal(`The data directory cannot be written off: ${why}.`, {
    exitCode: EXIT.usage,
    remedy: 'Two people write one off that keeps payments from being sent; "payrun doctor" names those that do.',
  });
}

async function holdInDoubt(ledger: Ledger, actor: string): Promise<number> {
  let held = 0;
  for (const runId of await ledger.runs.list()) {
    for (const state of IN_DOUBT) {
      for await (const lines of ledger.runs.linesIn(runId, { state })) {
        await Promise.all(lines.map((line) => holdOne(ledger, { runId, line }, { actor, state })));
        held += lines.length;
      }
    }
  }
  return held;
}

async function holdOne(
  ledger: Ledger,
  place: { runId: string; line: number },
  { actor, state }: { actor: string; state: PayoutState },
): Promise<void> {
  await ledger.payouts.move({
    ...place,
    to: 'held',
    actor,
    reason: 'E_DIR_LOST',
    ...(state === 'quoted' ? { dueMs: LOOK_DAILY_MS } : {}),
    fields: { rc: 'E_DIR_LOST', rs: 'a data directory that may have sent it was written off' },
  });
}

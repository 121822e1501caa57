import type { Ledger } from '../../ledger/ledger.ts';
import type { PayoutMove } from '../../ledger/payouts/acts.ts';
import type { PayoutState } from '../../payout.ts';
import { Refusal, withSteps } from '../../refusal.ts';

/**
 * States of payouts that the lost directory may have armed without this Redis knowing of it: what stands ready or quoted
 * here, what is held here and people may have allowed since, and what is unknown here, for its quote may have been proven
 * dead and the payout armed with another one since. `armed` comes first: it becomes unknown, as in the hands of anybody who
 * finds it so late (architecture.md, rules 4 and 5).
 */
const IN_DOUBT = ['armed', 'unknown', 'quoted', 'ready', 'held'] as const satisfies readonly PayoutState[];
type InDoubt = (typeof IN_DOUBT)[number];

export interface WrittenOff {
  /**
   * `agreed`: two people want it, and it is done once the directories that are missing have compared their logs. `retired`:
   * nothing of it was in doubt, and nobody waits for it any more.
   */
  readonly result: 'proposed' | 'agreed' | 'retired' | 'done';
  /** Payouts that were held just now. */
  readonly held: number;
  /** Data directories that keep the season closed still. */
  readonly missing: readonly string[];
}

/**
 * Gives up a data directory that does not come back, by two people (architecture.md, rule 4): everything is halted, and each
 * payout that it may have armed is held. May be run again after a crash, by anybody once two people have agreed. It is on
 * the audit log before the season may open.
 */
export async function writeOffDataDir(
  { ledger }: { ledger: Ledger },
  dataDirId: string,
  { actor, reason }: { actor: string; reason: string },
): Promise<WrittenOff> {
  const { result, proposedBy, missing } = await ledger.recovery.writeOff(dataDirId, actor);
  const audit = async (action: string, details: Record<string, string> = {}): Promise<void> => {
    const all = { dataDir: dataDirId, reason, ...details };
    await ledger.audit.append({ actor, action: `data-dir.${action}`, target: 'ledger', details: all });
  };
  switch (result) {
    case 'proposed':
      await audit('write-off-proposed');
      return { result, held: 0, missing: [] };
    case 'agreed':
      await audit('write-off-agreed', { proposedBy });
      return { result, held: 0, missing };
    case 'begun': {
      const held = await holdInDoubt(ledger, `${proposedBy} and ${actor}`);
      await audit('written-off', { proposedBy, held: String(held) });
      return { result: 'done', held, missing: await ledger.recovery.forgetDirs() };
    }
    case 'retired':
      await audit('retired', { proposedBy });
      return { result, held: 0, missing: [] };
    case 'same-person':
      throw refuse(`${proposedBy} has proposed this, and another person has to confirm it`);
    case 'unknown':
    case 'compared':
      throw refuse(WHY_NOT[result]);
  }
}

const WHY_NOT = {
  unknown: 'no directory of that id may arm anything here',
  compared: 'it came back and has compared its intent logs',
} as const;

function refuse(why: string): Refusal {
  return new Refusal(
    `The data directory cannot be written off: ${why}.`,
    withSteps`Two people can write off a directory that stops payments. ${{ to: 'see-doctor' }} names those.`,
  );
}

/** Until nothing is in doubt any more: a look-up elsewhere may make a payout ready meanwhile. */
async function holdInDoubt(ledger: Ledger, actor: string): Promise<number> {
  let held = 0;
  for (let isMoving = true; isMoving; ) {
    isMoving = false;
    for await (const { runId, lines, state } of inDoubt(ledger)) {
      const moves = await Promise.all(lines.map((line) => doubtOne(ledger, { runId, line }, { actor, state })));
      const moved = moves.filter(({ result }) => result === 'moved');
      isMoving ||= moved.length > 0;
      held += moved.filter(({ state: to }) => to === 'held').length;
    }
  }
  return held;
}

async function* inDoubt(ledger: Ledger): AsyncGenerator<{ runId: string; lines: number[]; state: InDoubt }> {
  for (const runId of await ledger.runs.list()) {
    for (const state of IN_DOUBT) {
      for await (const lines of ledger.runs.linesIn(runId, { state })) yield { runId, lines, state };
    }
  }
}

async function doubtOne(
  ledger: Ledger,
  place: { runId: string; line: number },
  { actor, state }: { actor: string; state: InDoubt },
): ReturnType<Ledger['payouts']['move']> {
  const move = { ...place, actor, reason: 'E_DIR_LOST' };
  if (state === 'armed') return await ledger.payouts.move({ ...move, to: 'unknown', dueMs: 0 });
  const values = { reasonCode: 'E_DIR_LOST', reason: 'a data directory that may have sent it was written off' };
  if (state === 'held') return await doubtHeld(ledger, { ...move, values });
  // What is known to be sent is looked up at once, and daily from then on.
  return await ledger.payouts.move({ ...move, to: 'held', ...(state === 'ready' ? {} : { dueMs: 0 }), values });
}

/** One that was sent keeps its reason: it is looked up already, and people cannot allow it. */
async function doubtHeld(ledger: Ledger, note: PayoutMove): ReturnType<Ledger['payouts']['move']> {
  const { payout, now } = await ledger.payouts.read(note);
  const isDone = payout === undefined || payout.reasonCode === 'E_DIR_LOST' || payout.quoteId !== null;
  if (isDone) return { result: 'there', version: 0, state: 'held', badOutcomes: 0 };
  // It may have been armed until now.
  const { reason: before, reasonCode: code } = payout;
  const why = note.values?.reason ?? '';
  const reason = before === null && code === null ? why : `${why}; it was held before: ${before ?? code}`;
  const values = { ...note.values, reason, armedAt: now };
  return await ledger.payouts.move({ ...note, values, version: payout.version, dueMs: 'as-it-is' });
}

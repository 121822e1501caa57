import { BLOCK_LIST_CHANGED } from '../../ledger/people/approvals.ts';
import type { PayDeps } from '../../pay/deps.ts';
import { stopRun } from '../../pay/stop.ts';
import type { Run } from '../../payout.ts';
import { approvalOf } from '../decide/approval.ts';
import { type ApproveDeps, approvalStanding } from '../decide/approve.ts';
import { factsFinding, findingOf, type SealFinding, sealFinding } from './seals.ts';

const BLOCK_LIST_EVERY_MS = 1000;
const RUNS_REMEMBERED_MAX = 10_000;

/**
 * Whether a run may be paid, by its seals: those of its facts and approvals at each call, those of its rows before this
 * process pays the first of them, that of the block list each second. A false one halts everything; one of an unknown key,
 * and too few approvals that hold, pause the run.
 */
export function openSealGuard(
  deps: Omit<ApproveDeps, 'wake'> & { readonly pay: PayDeps },
): (run: Run) => Promise<boolean> {
  const { ledger, clock, pay } = deps;
  const withTrueRows = new Set<string>();
  let blockListAt = Number.NEGATIVE_INFINITY;

  async function blockListFinding(): Promise<SealFinding | undefined> {
    if (clock.monotonic() - blockListAt < BLOCK_LIST_EVERY_MS) return undefined;
    const verdict = await pay.blockList.refresh();
    if (verdict === 'false') return { verdict, reason: BLOCK_LIST_CHANGED };
    if (verdict !== 'true') return findingOf(verdict, 'the block list');
    blockListAt = clock.monotonic();
    return undefined;
  }

  async function look(run: Run): Promise<SealFinding | undefined> {
    const finding = withTrueRows.has(run.id) ? factsFinding(ledger, run) : await sealFinding(deps, run);
    if (finding !== undefined) return finding;
    if (withTrueRows.size >= RUNS_REMEMBERED_MAX) withTrueRows.clear();
    withTrueRows.add(run.id);
    return await blockListFinding();
  }

  return async (run) => {
    const finding = await look(run);
    if (finding?.verdict === 'false') {
      await pay.state.halt(pay.owner, finding.reason);
      return false;
    }
    if (finding !== undefined) {
      await stopRun(pay, run.id, { code: 'E_LEDGER_KEY', reason: finding.reason });
      return false;
    }
    if (approvalOf(run, deps.config) === null) return true;
    const { needed, given } = approvalStanding(deps, run, await ledger.people.disabled());
    const people = new Set(given.filter(({ holds }) => holds).map(({ by }) => by));
    if (people.size >= needed) return true;
    await stopRun(pay, run.id, { code: 'E_APPROVAL', reason: 'its approval does not hold (any more)' });
    return false;
  };
}

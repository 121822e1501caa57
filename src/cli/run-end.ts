import { OUTCOMES, type Outcome, type RunState } from '../payout.ts';
import { EXIT, type ExitCode } from './exit-code.ts';

const UNSETTLED: readonly Outcome[] = ['unknown', 'held'];
const FINE: readonly Outcome[] = ['paid', 'pending'];

/** What a run's end means for the exit code of `payrun run`; unsettled rows win over rows that were not paid. */
export function exitCodeOf(run: {
  state: RunState;
  outcomes: Readonly<Record<Outcome, number>>;
  ties: boolean;
}): ExitCode {
  if (!run.ties) return EXIT.defect;
  if (run.state === 'awaiting-approval') return EXIT.awaitingApproval;
  if (UNSETTLED.some((outcome) => run.outcomes[outcome] > 0)) return EXIT.unsettled;
  return OUTCOMES.some((outcome) => !FINE.includes(outcome) && run.outcomes[outcome] > 0) ? EXIT.notPaid : EXIT.ok;
}

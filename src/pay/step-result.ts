import type { PayoutPlace } from '../ledger/payouts.ts';

/**
 * What became of a payout in the hands of a worker. `done`: it wants nothing more from this job. `deferred`: it is ready
 * and has its own time to come back. `left`: it is as it was; somebody has to come back for it.
 */
export type PayResult = 'done' | 'deferred' | 'left';

/** A payout that is to be paid, and the file that asks for it. */
export interface PayOrder extends PayoutPlace {
  /** False where the run is not being paid: its quotes may be ended, and nothing is armed. */
  readonly mayArm: boolean;
  readonly fileSha256: string;
  /** Of the rows of that file, in hexadecimal. */
  readonly contentHash?: string | undefined;
  /** Digest of what people must have approved; null where no approval is needed. */
  readonly approval?: string | null;
}

/** How one step ended: with a result, or `again` when the payout is to be looked at once more at once. */
export type StepResult = PayResult | 'again';

import type { Clock, Random } from '../clock.ts';
import type { Limits } from '../config/limits.ts';
import type { IntentLog } from '../ledger/intents/intent-log.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Payouts } from '../ledger/payouts/payouts.ts';
import type { Runs } from '../ledger/runs/runs.ts';
import type { Seals } from '../ledger/seals.ts';
import type { LedgerState } from '../ledger/season/ledger-state.ts';
import type { Log } from '../log.ts';
import type { Service } from '../service/client.ts';
import type { BreakerRule } from './breaker.ts';
import type { AtCrashPoint } from './crash-point.ts';
import type { KnownBlockList } from './known-block-list.ts';
import type { Canary } from './look-up/canary.ts';
import type { NotFoundRules } from './look-up/look-up-answer.ts';
import type { Pace, QuoteLead } from './pace.ts';

/** What the steps of a payout need. */
export interface PayDeps {
  readonly payouts: Payouts;
  readonly runs: Pick<Runs, 'move' | 'read' | 'quotesBeside'>;
  readonly references: Pick<Ledger['references'], 'sharing'>;
  readonly state: Pick<LedgerState, 'halt' | 'disprove'>;
  readonly seals: Seals;
  readonly blockList: KnownBlockList;
  readonly intents: IntentLog;
  readonly service: Service;
  /** Whether a "not found" of the service means anything now. */
  readonly canary: Canary;
  /** Payment requests, and look-ups of accepted payments. */
  readonly pace: Pace;
  readonly trackPace: Pace;
  readonly quoteLead: QuoteLead;
  /** Data directories that keep the season closed; none once arming is allowed (architecture.md, rule 4). */
  readonly ensureSeason: () => Promise<readonly string[]>;
  /** Throws a Refusal where the ledger has other safety settings than this process, or is of a later version. */
  readonly requireSafety: () => Promise<void>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly at: AtCrashPoint;
  /** This process, as armings name it. */
  readonly owner: string;
  readonly rules: PayRules;
}

export interface PayRules extends NotFoundRules {
  readonly armDeadlineMs: number;
  readonly requestTimeoutMs: number;
  readonly quoteGraceMs: number;
  readonly notFoundGapMs: number;
  readonly trackEveryMs: number;
  /** Null: no run pauses itself for what comes of its payments. */
  readonly breaker: BreakerRule | null;
  /** The most money that may be armed; null where nobody set any. */
  readonly limits?: Limits | null;
  readonly payoutCategory: string;
  readonly payinCategory: string;
  /** Capabilities of the service that are verified, given or assumed. */
  readonly capabilities: ReadonlySet<string>;
}

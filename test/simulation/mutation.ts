import type { AuditRecord } from '../../src/audit/entry.ts';
import type { Clock } from '../../src/clock.ts';
import type { IntentLog } from '../../src/ledger/intents/intent-log.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { Arming, PayoutMove } from '../../src/ledger/payouts/acts.ts';
import type { Payouts } from '../../src/ledger/payouts/payouts.ts';
import type { PayRules } from '../../src/pay/deps.ts';
import type { Canary } from '../../src/pay/look-up/canary.ts';
import type { Service } from '../../src/service/client.ts';
import type { FakeDisk } from './disk.ts';
import type { Store } from './store.ts';
import type { Actor } from './world.ts';

/** Where the simulation composes the program, one guard may be replaced. The program itself has no such switch. */
export interface Mutation {
  readonly service?: (service: Service) => Service;
  readonly payouts?: (payouts: Payouts) => Payouts;
  readonly intents?: (intents: IntentLog) => IntentLog;
  readonly rules?: Partial<PayRules>;
  readonly clock?: (clock: Clock, actor: Actor) => Clock;
  readonly canary?: Canary;
  /** People are not told where the other payout with the reference stands. */
  readonly tellsNothing?: boolean;
  /** A data directory that was copied keeps the id that it had. */
  readonly copyKeepsId?: boolean;
  /** Nobody looks whether the clock of Redis stepped back. */
  readonly ignoresClockSteps?: boolean;
  /** What is left of an intent log when it is compared. */
  readonly compared?: (lines: FakeDisk['lines']) => FakeDisk['lines'];
  /** What the audit log's copies are seen to have that Redis has not. */
  readonly missing?: (records: readonly AuditRecord[]) => readonly AuditRecord[];
  /** What people decided is not compared again when Redis changes once more before the season opens. */
  readonly comparesDecisionsOnce?: boolean;
  /** A write-off leaves runs as they are that were cancelled before their rows came. */
  readonly doubtsNoCancelledRuns?: boolean;
  /** The ledger as it is seen by who writes a lost host off. */
  readonly writeOffOn?: (ledger: Ledger) => Ledger;
  readonly seasonWaitMs?: number;
  /** What is left of the rules where people decide. */
  readonly rulesOfPeople?: Partial<PayRules>;
  /** What a process remembers of the highest arming counter that it saw. */
  readonly remembered?: (counter: number) => number;
  /** What a script that lacks a check would do to the ledger before it arms. */
  readonly beforeArm?: (store: Store, arming: Arming, dataDirId: string) => Arming;
  readonly beforeMove?: (store: Store, move: PayoutMove) => PayoutMove;
}

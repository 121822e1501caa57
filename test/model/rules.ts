/*
 * A model of two payouts with one reference, of what people decide about them, and of copies that are put back: of Redis and
 * of data directories. Every interleaving of it is searched (search.ts). `world.ts` says what there is and what may happen,
 * `ledger.ts` what Redis does, `season.ts` how a season opens again, `people.ts` what people do.
 *
 * One payout alone is proven elsewhere: here an arming, its request and what came of it are one step, and a look-up is right.
 */

/** Each rule as it is (true), or as it was before. */
export interface Rules {
  /** An arming compares the owner of the payout's reference. */
  readonly armingComparesReference: boolean;
  /** Who is asked to allow a payout is told where the other one stands, and allowing takes the reference. */
  readonly allowingTakesReference: boolean;
  /** What people decided is compared with the copies of the audit log, and done again, before a season opens. */
  readonly decisionsAreCompared: boolean;
  /** A data directory that was copied gets an id of its own. */
  readonly copyGetsNewId: boolean;
  /** A write-off puts in doubt what is held and was never sent. */
  readonly writeOffDoubtsHeld: boolean;
  /** A write-off voids what was proposed before, on the words that a payout was never sent. Not so yet in src/runs/safety/write-off.ts. */
  readonly doubtVoidsProposal: boolean;
  /** In a closed season no payout comes to an end that frees its reference. */
  readonly nothingEndsInClosedSeason: boolean;
  /** An entry of the audit log is missing wherever another one has its place, and not only after the last one that stands. */
  readonly everyEntryIsCompared: boolean;
  /** Allowing is refused when the other payout has moved since it was looked at. */
  readonly allowingComparesOther: boolean;
}

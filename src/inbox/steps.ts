import { createHash } from 'node:crypto';
import type { Clock, Random } from '../clock.ts';
import type { LedgerState } from '../ledger/season/ledger-state.ts';
import type { Run } from '../payout.ts';
import { jsonText } from '../report/json-text.ts';
import { type ReportDeps, writeReport } from '../runs/after/report.ts';
import { readRun } from '../runs/read-run.ts';
import { type Answer, type AnswerDeps, answerFile, type HandingIn, lateRefusal, parseAnswer } from './answer.ts';
import { openLateWrites, putChangedAfterClaim } from './changed-after-claim.ts';
import {
  type Claim,
  claimFile,
  endClaim,
  keepDecision,
  putAnswer,
  readDecision,
  type UsedNames,
  type Writing,
} from './claim.ts';
import { putAway, putMarkedUp, putRead } from './claim-files.ts';
import { bytesOf } from './copy.ts';
import { ANSWER_ENDINGS } from './names.ts';
import { isReportDue } from './report-due.ts';
import type { Entry, InboxSource } from './source.ts';

/** After this long another watcher takes over from one that was killed. */
const LEASE_MS = 15_000;

interface LeaseDeps {
  readonly ledger: { readonly state: Pick<LedgerState, 'takeTurn' | 'endTurn'> };
  readonly clock: Clock;
}

/**
 * Does the work unless another watcher is at it. The lease only saves work twice: who stalls past its end does what is
 * done again meanwhile, and that must be harmless.
 */
async function underLease(
  { ledger: { state: head }, clock }: LeaseDeps,
  what: string,
  { work, leaseMs = LEASE_MS }: { work: () => Promise<void>; leaseMs?: number | undefined },
): Promise<void> {
  if (!(await head.takeTurn(what, leaseMs))) return;
  const ended = new AbortController();
  let heldSinceMs = clock.monotonic();
  const isHeld = (): boolean => clock.monotonic() - heldSinceMs < leaseMs;
  const renewing = (async () => {
    await clock.sleep(leaseMs / 3, ended.signal);
    while (!ended.signal.aborted && isHeld()) {
      await head.endTurn(what);
      if (!(await head.takeTurn(what, leaseMs))) return;
      heldSinceMs = clock.monotonic();
      await clock.sleep(leaseMs / 3, ended.signal);
    }
  })();
  // Without Redis it cannot be renewed; the work meets the same fault.
  renewing.catch(() => {});
  try {
    await work();
  } finally {
    ended.abort();
    await renewing.catch(() => {});
    if (isHeld()) await head.endTurn(what);
  }
}

/** Puts copies of the run's newest report beside the file's acknowledgement. */
async function deliverReport(
  deps: ReportDeps & { readonly random: Random },
  source: InboxSource,
  { claim, runId }: { claim: Claim; runId: string },
): Promise<void> {
  const { paths } = await writeReport(deps, runId);
  for (const path of paths) {
    const ending = path.endsWith('.csv') ? ANSWER_ENDINGS.reportCsv : ANSWER_ENDINGS.reportJson;
    await putAnswer({ random: deps.random, source }, claim, { ending, chunks: bytesOf(path) });
  }
}

export type StepDeps = AnswerDeps &
  ReportDeps & { readonly random: Random; readonly config: { readonly trackRatePerSecond: number } };

export interface StepOptions extends HandingIn {
  /** Told of each answer that lies in `reports/`; of one again when a crash came right behind it. */
  readonly answered: (as: string, answer: Answer) => void;
  /** Told of each report that lies in `reports/`. */
  readonly reported: (runId: string) => void;
  readonly leaseMs?: number | undefined;
}

/** What is done with a claim. Each step may be done again, and by two at once. */
export interface Steps {
  /** Does work on a claim, unless another watcher is at it. */
  alone(claim: Pick<Claim, 'id'>, work: () => Promise<void>): Promise<void>;
  /** Takes a file out of `in/` under the claim id, unless another watcher is taking one of that name. */
  take(name: string, taking: { id: string; used: UsedNames }): Promise<Claim | undefined>;
  /** Decides about the file, unless that was done, and tells what was decided. Does nothing with a file that changed meanwhile. */
  answer(claim: Claim, entry: Entry): Promise<void>;
  /** The run of an answered claim; its report is delivered once it is due. Undefined when nothing is left to wait for. */
  follow(claim: Claim): Promise<Run | undefined>;
}

export function openSteps(deps: StepDeps, source: InboxSource, options: StepOptions): Steps {
  const { leaseMs } = options;
  const writing = { random: deps.random, source };
  const late = openLateWrites(source);

  async function decisionOn(claim: Claim): Promise<Answer | undefined> {
    const text = await readDecision(source, claim);
    return text === undefined ? undefined : parseAnswer(text);
  }

  async function decide(claim: Claim, entry: Entry): Promise<Answer | undefined> {
    const answer = await answerFile(deps, source, { claim, entry, handingIn: options });
    if (answer === undefined) return undefined;
    // Somebody else may have decided while this was under way: then that stands.
    const before = await decisionOn(claim);
    if (before !== undefined) return before;
    late.read(claim, entry);
    return (await keepDecision(writing, claim, jsonText(answer))) ? answer : undefined;
  }

  async function tell(claim: Claim, entry: Entry, answer: Answer): Promise<void> {
    // First the copy: who finds the refusal finds it too.
    if (answer.kind === 'nack') await putMarkedUp(source, claim);
    if (!(await putDocument(writing, claim, answer))) return;
    options.answered(claim.as, answer);
    if (answer.kind === 'ack') {
      await putRead(source, claim, { sha256: answer.document.file.sha256, entry });
    } else {
      await putAway(source, claim, { entry, to: `refused/${claim.as}` });
      await endClaim(source, claim);
    }
  }

  async function refuseLate(claim: Claim, name: string, run: Run): Promise<void> {
    const answer = lateRefusal(name, run);
    if (!(await putDocument(writing, claim, answer))) return;
    options.answered(claim.as, answer);
    await putChangedAfterClaim(source, claim);
  }

  return {
    alone: async ({ id }, work) => await underLease(deps, `inbox-${id}`, { work, leaseMs }),
    async take(name, taking) {
      const lease = `inbox-name-${createHash('sha256').update(name).digest('hex')}`;
      let claim: Claim | undefined;
      const work = async (): Promise<void> => {
        claim = await claimFile(source, name, taking);
      };
      await underLease(deps, lease, { work, leaseMs });
      return claim;
    },
    async answer(claim, entry) {
      const answer = (await decisionOn(claim)) ?? (await decide(claim, entry));
      if (answer !== undefined) await tell(claim, entry, answer);
    },
    async follow(claim) {
      const answer = await decisionOn(claim);
      if (answer?.kind !== 'ack') {
        await endClaim(source, claim);
        return undefined;
      }
      const { runId, file } = answer.document;
      const run = await readRun(deps, runId);
      const isPurged = run.purgedAt !== null;
      const isLast = isPurged || isReportDue(run, { nowMs: deps.clock.now(), ...deps.config });
      if (await late.isLate(claim, file.sha256, isLast)) await refuseLate(claim, file.name, run);
      if (!isLast) return run;
      if (!isPurged) {
        await deliverReport(deps, source, { claim, runId });
        options.reported(runId);
      }
      late.forget(claim);
      await endClaim(source, claim);
      return undefined;
    },
  };
}

/** False: the claim has ended meanwhile. */
async function putDocument(writing: Writing, claim: Claim, { kind, document }: Answer): Promise<boolean> {
  const chunks = [Buffer.from(`${jsonText(document)}\n`)];
  return await putAnswer(writing, claim, { ending: ANSWER_ENDINGS[kind], chunks });
}

import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { rfc3339 } from '../clock.ts';
import { type Droppers, dropperOf, type InboxSettings, NO_DROPPERS } from '../config/inbox.ts';
import type { IntakeOptions } from '../intake/check-file.ts';
import { problemsDocument } from '../intake/problems/document.ts';
import { writeMarkedUpCopy } from '../intake/problems/marked-up.ts';
import { RUN_STATES, type Run, type StagePlan } from '../payout.ts';
import { codeOf, Refusal } from '../refusal.ts';
import { approvalsNeededFor } from '../runs/decide/approval.ts';
import { type Submission, type SubmitDeps, type Submitted, submitRun } from '../runs/hand-in/submit.ts';
import type { IdentityBook } from '../runs/identities.ts';
import { LATE, problemOfChanged } from './changed-after-claim.ts';
import type { Claim } from './claim.ts';
import { keepMarkedUp, keepRead } from './claim-files.ts';
import { bytesOf, type CopyDeps, copyClaimed, type PrivateCopy } from './copy.ts';
import { type FileProblem, problemOfThing, thingOf } from './rejected-entries.ts';
import type { Entry, InboxSource } from './source.ts';

/** No payout file has it: hidden names are passed over. */
const MARKED_UP = '.marked-up.csv';

const acknowledgement = z.strictObject({
  file: z.strictObject({ name: z.string(), sha256: z.string(), rows: z.int() }),
  runId: z.string(),
  duplicate: z.boolean(),
  state: z.enum(RUN_STATES),
  /** Why nothing of it is paid yet, and when it starts by itself, if it does; null when it is under way or over. */
  waits: z.strictObject({ reason: z.string(), until: z.string().nullable() }).nullable().default(null),
  at: z.string(),
});

type Acknowledgement = z.infer<typeof acknowledgement>;

const schema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('ack'), document: acknowledgement }),
  z.strictObject({ kind: z.literal('nack'), document: z.record(z.string(), z.unknown()) }),
]);

/** What a file was told: which run it is, or why it is refused. */
export type Answer = z.infer<typeof schema>;

export function parseAnswer(text: string): Answer {
  return schema.parse(JSON.parse(text));
}

export type AnswerDeps = SubmitDeps &
  CopyDeps & { readonly config: { readonly inbox?: Droppers & Pick<InboxSettings, 'stages'> } };

/** How files are handed in. */
export interface HandingIn {
  /** Who hands them in. */
  readonly actor: string;
  /** Who is named for all files of the inbox; else the settings say who puts them there. */
  readonly dropper?: string | undefined;
  /** In which they are paid; else the settings say so. */
  readonly stages?: StagePlan | undefined;
  /** Let the valid rows go although others are refused. */
  readonly skipInvalid: boolean;
  /** How the files look, where that was said. */
  readonly intake?: IntakeOptions | undefined;
}

/**
 * Hands in a claimed file. `entry` is what was seen of it twice; undefined when it is not that any more, so it has to be
 * looked at anew. Under a claim's id the same run is found again, however often this is done. Throws what keeps the file
 * from being answered for now: a Refusal (unavailable), a fault.
 */
export async function answerFile(
  deps: AnswerDeps,
  source: InboxSource,
  { claim, entry, handingIn }: { claim: Claim; entry: Entry; handingIn: HandingIn },
): Promise<Answer | undefined> {
  const thing = thingOf(entry);
  if (thing !== undefined) return refusal(entry.name, problemOfThing(thing));
  const copy = await copyClaimed(deps, source, { claim, entry });
  if (copy.kind === 'changed') return undefined;
  if (copy.kind === 'refused') return refusal(entry.name, problemOfThing(copy.thing));
  try {
    const dropper = handingIn.dropper ?? namedBy(deps, source, entry);
    const { submitted, isMarkable } = await submitCopy(deps, copy, { key: claim.id, ...handingIn, dropper });
    const answer = answerOf(deps, copy, submitted);
    const writing = { random: deps.random, source };
    if (answer.kind === 'ack') {
      await keepRead(writing, claim, { sha256: copy.sha256, chunks: bytesOf(copy.path) });
    } else if (isMarkable) {
      const markedUp = join(dirname(copy.path), MARKED_UP);
      if (await writeMarkedUpCopy(copy.path, submitted.checked, markedUp)) {
        await keepMarkedUp(writing, claim, bytesOf(markedUp));
      }
    }
    return answer;
  } catch (error) {
    if (error instanceof Refusal && error.kind === 'fileRefused' && (await isWhole(copy))) {
      return refusal(entry.name, problemOfRefusal(error, copy.path));
    }
    throw error;
  } finally {
    await copy.remove();
  }
}

/** Who put the file there by the settings; '' for nobody. */
function namedBy({ config }: AnswerDeps, { name: inbox }: InboxSource, { owner }: Entry): string {
  return dropperOf(config.inbox ?? NO_DROPPERS, { inbox, owner }) ?? '';
}

/** Hands the copy in. Not markable is one of which only the service's identities tell what is wrong: intake marks no row. */
async function submitCopy(
  deps: AnswerDeps,
  { path }: PrivateCopy,
  given: Omit<Submission, 'path'>,
): Promise<{ submitted: Submitted; isMarkable: boolean }> {
  const { identities, config } = deps;
  const submission = { ...given, path, stages: given.stages ?? config.inbox?.stages };
  let isMarkable = true;
  if (identities === undefined) return { submitted: await submitRun(deps, submission), isMarkable };
  const watched: IdentityBook = {
    ...identities,
    async check(...file) {
      const findings = await identities.check(...file);
      isMarkable = findings.refused === 0;
      return findings;
    },
  };
  const submitted = await submitRun({ ...deps, identities: watched }, submission);
  return { submitted, isMarkable };
}

function answerOf({ clock, config }: AnswerDeps, copy: PrivateCopy, submitted: Submitted): Answer {
  const { checked } = submitted;
  if (checked.sha256 !== '' && checked.sha256 !== copy.sha256) {
    throw new Error('the private copy of a payout file was changed');
  }
  if (submitted.kind === 'refused') return { kind: 'nack', document: { ...problemsDocument(checked) } };
  const { run, isNew } = submitted;
  const document = {
    file: { name: checked.name, sha256: checked.sha256, rows: checked.rows },
    runId: run.id,
    duplicate: !isNew,
    state: run.state,
    waits: waitOf(run, approvalsNeededFor(config.approval ?? null, run)),
    at: rfc3339(clock.now()),
  };
  return { kind: 'ack', document };
}

function waitOf({ state, pauseReason, startAt }: Run, approvals: number): Acknowledgement['waits'] {
  const until = typeof startAt === 'number' ? rfc3339(startAt) : null;
  if (state === 'awaiting-approval') {
    const reason = approvals > 1 ? `${approvals} people have to approve it` : 'somebody has to approve it';
    return { reason, until: null };
  }
  return state === 'paused' ? { reason: pauseReason ?? 'it is paused', until } : null;
}

/** What is told of a file that was changed after it was taken for this run. */
export function lateRefusal(name: string, run: Run): Answer {
  return refusal(name, problemOfChanged(run));
}

const lateDocument = z.looseObject({ problems: z.tuple([z.looseObject({ code: z.literal(LATE) })]) });

/** Whether it is told of a file that was accepted, and changed after it was taken. */
export function isLateRefusal({ document }: Answer): boolean {
  return lateDocument.safeParse(document).success;
}

/** In the shape of `problemsDocument`, of a file that could not be read at all. */
function refusal(name: string, problem: FileProblem): Answer {
  const document = { file: name, rows: 0, valid: 0, totals: [], problems: [problem], problemsTotal: 1 };
  return { kind: 'nack', document };
}

function problemOfRefusal({ message, remedy }: Refusal, path: string): FileProblem {
  const shown = message.replaceAll(path, basename(path));
  return { code: 'E_FILE', line: null, column: null, value: null, message: shown, remedy };
}

/** Whether it was the file that was refused, and not a copy that somebody took away or changed. */
async function isWhole({ path, sha256 }: PrivateCopy): Promise<boolean> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of bytesOf(path)) hash.update(chunk);
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return false;
  }
  return hash.digest('hex') === sha256;
}

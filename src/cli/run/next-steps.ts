import { rfc3339 } from '../../clock.ts';
import type { CheckedFile } from '../../intake/check-file.ts';
import type { Run } from '../../payout.ts';
import { outcomeCounts } from '../../report/totals.ts';
import { hasEnded } from '../../runs/decide/control.ts';
import { isShownWhole, shellWord } from '../print.ts';

export interface Told {
  /** The command that shows the work going on, or that makes it go on where nothing works on the run. */
  readonly carriesOn: string;
  /** The command that follows payments under way until they end, where `carriesOn` does not wait so long. */
  readonly settles?: string;
  /** What is known of held rows. */
  readonly held?: readonly string[];
  /** The same of rows that were not paid. */
  readonly unpaid?: readonly string[];
}

/** What waits in a run, each as a line that ends with the command for it. */
export function nextSteps(
  run: Run,
  { carriesOn, settles = carriesOn, held = [], unpaid: whyUnpaid = [] }: Told,
): string[] {
  const { id, state, fileSha256 } = run;
  const outcomes = outcomeCounts((of) => run.counts[of]);
  const unpaid = outcomes.rejected + outcomes.failed + outcomes.returned + outcomes.cancelled;
  const steps: (readonly [isWanted: boolean, what: string, command: string])[] = [
    [state === 'recording', 'being recorded', 'hand in the same file again to carry on'],
    [state === 'awaiting-approval', 'waits for approval', `payrun approve ${id} --sha256 ${fileSha256} --as NAME`],
    [state === 'paused', pausedText(run), `payrun resume ${id}${stageOption(run)} --as NAME`],
    [outcomes.held > 0 && held.length === 0, `${outcomes.held} held`, `payrun list ${id} --outcome held`],
    [outcomes.unknown > 0, `${outcomes.unknown} unknown, looked up until it is known`, carriesOn],
    [state === 'paying' && outcomes.waiting > 0, `${outcomes.waiting} wait to be sent`, carriesOn],
    [outcomes.pending > 0, `${outcomes.pending} under way at the service`, settles],
    [hasEnded(run) && unpaid > 0, `${unpaid} not paid`, `payrun retry-file ${id} --output again.csv`],
    [outcomes.refused > 0, `${outcomes.refused} refused when the file was read`, `payrun list ${id} --outcome refused`],
  ];
  const known = [...held, ...whyUnpaid];
  return [...known, ...steps.flatMap(([isWanted, what, command]) => (isWanted ? [`${what} -> ${command}`] : []))];
}

/** Whoever resumes a run after a stage releases more of it than what waited. */
function pausedText({ stages }: Run): string {
  return stages?.isOver === true ? `paused after stage ${stages.at + 1} of ${stages.ends.length}` : 'paused';
}

/** Somebody else may release that stage meanwhile. */
function stageOption({ stages }: Run): string {
  return stages?.isOver === true ? ` --stage ${stages.at + 1}` : '';
}

/** A command that is given this payout file, read as it was now, as it is typed. */
export function fileCommand(
  name: string,
  { file, template }: { readonly file: string; readonly template?: string | undefined },
  options: readonly string[] = [],
): string {
  const read = template === undefined ? [] : ['--template', shellWord(template)];
  return [`payrun ${name}`, shellWord(file), ...read, ...options].join(' ');
}

/** Steps as lines, but for those that a terminal cannot show as they have to be typed. */
export function stepLines(steps: readonly (string | undefined)[]): string {
  return steps.filter((step) => step !== undefined && isShownWhole(step)).join('\n');
}

/** What pays the file that was looked at, as a line; of one with problems the valid rows. Undefined where it has none. */
export function payingStep(
  { problemsTotal, fileRefused, valid }: Pick<CheckedFile, 'problemsTotal' | 'fileRefused' | 'valid'>,
  given: { readonly file: string; readonly template?: string | undefined },
): string | undefined {
  if (fileRefused || valid === 0) return undefined;
  if (problemsTotal === 0) return `pay it -> ${fileCommand('run', given)}`;
  return `pay the ${valid === 1 ? 'valid row' : `${valid} valid rows`} alone -> ${fileCommand('run', given, ['--skip-invalid'])}`;
}

/** Said at the end for a file whose run was over before it was handed in now: nothing is left to be sent of it. */
export function handedInBefore(run: Pick<Run, 'id' | 'state' | 'finishedAt'>, now: number): string {
  const verb = run.state === 'cancelled' ? 'cancelled' : 'finished';
  const when = run.finishedAt === null ? '' : `, ${verb} ${timeOfDay(run.finishedAt, now)}`;
  return `Handed in before as run ${run.id}${when}. Nothing was paid now.`;
}

/** The time alone on its own day, both in UTC. */
function timeOfDay(at: number, now: number): string {
  const [day = '', time = ''] = rfc3339(at).split('T');
  const isToday = rfc3339(now).startsWith(day);
  return `${isToday ? '' : `${day} `}${time.slice(0, 'HH:MM'.length)} UTC`;
}

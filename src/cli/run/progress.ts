import type { Clock } from '../../clock.ts';
import { formatAmount } from '../../money.ts';
import type { Run } from '../../payout.ts';
import type { Outage } from '../../runs/outages.ts';
import {
  countText,
  rowsTaken,
  type Sample,
  SETTLING_MS,
  steadyRateOf,
  withMove,
  workOf,
  workWords,
} from '../../runs/progress.ts';
import { asGiven } from '../print.ts';
import type { Terminal } from '../terminal.ts';

const PLAIN_EVERY_MS = 5000;
/** Between two looks that are further apart something was away, and nothing was paid. */
const GAP_MS_MAX = 2000;
const MINUTE_S = 60;
/** The same width in ASCII. */
const CUT = '...';
/** To the start of the line, and nothing on it. */
const CLEAR = '\r\u001b[2K';

/** Shows how far a run is: one line that is written over on a terminal; elsewhere a line for each phase, and every few seconds. */
export interface Progress {
  show(run: Run, options: { readonly isWaitedFor: boolean }): void;
  /** Shows that something else is done for the run, and how far that is. */
  phase(name: string, detail?: string): void;
  /** Takes note of how far the run is, without a line. */
  note(run: Run): void;
  /** Says something on a line of its own. */
  say(line: string): void;
  /** How much of the run that was shown last has been sent, and how much waits; empty before. */
  sentence(): string;
  /** What is needed to pay and is away; nothing any more: no rate is told meanwhile, and none over that time. */
  setAway(what: readonly Outage['what'][]): void;
  /** Ends the line; elsewhere than on a terminal, shows where it ended. */
  end(): void;
}

export function openProgress(clock: Pick<Clock, 'monotonic'>, terminal: Terminal): Progress {
  let away: readonly Outage['what'][] = [];
  let samples: readonly Sample[] = [];
  let shownAt = Number.NEGATIVE_INFINITY;
  let isOpen = false;
  let unshown = '';
  let current = '';
  let last: Run | undefined;
  function rateOf(run: Run): number {
    const atMs = clock.monotonic();
    const isCut = away.length > 0 || atMs - (samples.at(-1)?.atMs ?? atMs) > GAP_MS_MAX;
    samples = withMove(samples, run, { atMs, isCut });
    return steadyRateOf(samples);
  }

  function put(phase: string, rest: string): void {
    if (terminal.rewrites) {
      terminal.write(`${CLEAR}${terminal.strong(phase)}${rest}`);
      isOpen = true;
    } else if (phase !== current || clock.monotonic() - shownAt >= PLAIN_EVERY_MS) {
      shownAt = clock.monotonic();
      unshown = '';
      terminal.write(`${phase}${rest}\n`);
    } else {
      unshown = `${phase}${rest}\n`;
    }
    current = phase;
  }

  return {
    setAway(what) {
      away = what;
    },
    sentence: () => (last === undefined ? '' : workWords(workOf([last]))),
    note(run) {
      last = run;
    },
    say(line) {
      terminal.write(`${isOpen ? CLEAR : ''}${asGiven(line)}\n`);
      isOpen = false;
    },
    show(run, { isWaitedFor }) {
      last = run;
      const rate = { done: rowsTaken(run), perSecond: rateOf(run) };
      const width = terminal.rewrites ? terminal.width() - 1 : Number.POSITIVE_INFINITY;
      const phase = phaseOf(run);
      put(phase, progressLine(run, { ...rate, width, isWaitedFor, away }).slice(phase.length));
    },
    phase(name, detail) {
      const line = detail === undefined ? name : `${name} ${detail}`;
      put(name, (terminal.rewrites ? marked(line, terminal.width() - 1) : line).slice(name.length));
    },
    end() {
      if (isOpen) terminal.write('\n');
      else terminal.write(unshown);
      isOpen = false;
      unshown = '';
    },
  };
}

/** A line that is cut, such as by a long name of a file, says so. */
function marked(line: string, width: number): string {
  return line.length <= width ? line : `${line.slice(0, Math.max(0, width - CUT.length))}${CUT}`;
}

/** Its words begin the line. */
function phaseOf({ state, counts }: Run): string {
  return state === 'finished' && counts.accepted > 0 ? 'paid;' : state;
}

/** A finished run whose payments are under way is waited for by some, at most for a while. */
function stateWords({ state, counts, stages }: Run, isWaitedFor: boolean): string {
  if (state === 'paying' && stages !== null) return `paying, stage ${stages.at + 1} of ${stages.ends.length},`;
  if (state !== 'finished' || counts.accepted === 0) return state;
  if (!isWaitedFor) return `paid; ${countText(counts.accepted)} to be settled by the service;`;
  return `paid; waiting for the service to settle ${countText(counts.accepted)}, ${SETTLING_MS / 1000} s at most;`;
}

interface ProgressLine {
  readonly done: number;
  readonly perSecond: number;
  readonly width?: number;
  /** Whether whoever shows it waits for payments that are under way. */
  readonly isWaitedFor?: boolean;
  /** What is needed to pay and does not answer. */
  readonly away?: readonly Outage['what'][];
}

/** What a person may have to do something about. */
const RESTING = ['held', 'rejected', 'failed', 'returned'] as const;

const AWAY_WORDS = { service: 'the service', redis: 'Redis', disk: 'the disk', season: 'other hosts' } as const;

/**
 * Rows, rate, time left and money of a run in one line; `perSecond` is rows. Parts that do not fit into `width` characters
 * are left out whole and counted: a cut figure reads like another amount.
 */
export function progressLine(run: Run, options: ProgressLine): string {
  const { done, perSecond, width = Number.POSITIVE_INFINITY, isWaitedFor = false, away = [] } = options;
  const left = run.rows - done;
  const rows = `${countText(done)}/${countText(run.rows)} rows`;
  const state = stateWords(run, isWaitedFor);
  const parts = [
    [`${state} ${rows}`, state.replace(/;$/, '')].find((text) => text.length <= width) ?? `${phaseOf(run)} ${rows}`,
    ...awayWords(away),
    ...(perSecond >= 1 ? [`${countText(Math.round(perSecond))} rows/s`] : []),
    ...(perSecond > 0 && left > 0 ? [`${timeText(left / perSecond)} left`] : []),
    ...(run.counts.unknown > 0 ? [`${countText(run.counts.unknown)} unknown`] : []),
    ...(run.stages !== null && run.counts.accepted > 0
      ? [`${countText(run.counts.accepted)} to be settled by the service`]
      : []),
    ...RESTING.flatMap((name) => (run.counts[name] > 0 ? [`${countText(run.counts[name])} ${name}`] : [])),
    ...run.fileTotals.map((total) => moneyText(run, total.currency)),
  ];
  return fitting(parts, width);
}

function awayWords(away: readonly Outage['what'][]): string[] {
  return away.length === 0 ? [] : [`waiting for ${away.map((what) => AWAY_WORDS[what]).join(' and ')}`];
}

/** As many of the parts as fit, and how many more there are; the first always stands. */
function fitting(parts: readonly string[], width: number): string {
  for (let count = parts.length; count > 0; count--) {
    const more = count < parts.length ? [`+${parts.length - count} more`] : [];
    const line = [...parts.slice(0, count), ...more].join(' · ');
    if (line.length <= width) return line;
  }
  return parts[0] ?? '';
}

function moneyText(run: Run, currency: string): string {
  const amounts = run.amounts.get(currency);
  const minor = (amounts?.paid ?? 0n) + (amounts?.pending ?? 0n);
  return `${currency} ${formatAmount({ minor, currency })}`;
}

function timeText(seconds: number): string {
  const whole = Math.ceil(seconds);
  return whole < MINUTE_S ? `${whole} s` : `${Math.ceil(whole / MINUTE_S)} min`;
}

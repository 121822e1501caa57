import { PAYOUT_STATES, type PayoutState } from '../../payout.ts';
import { LedgerFault } from '../script.ts';

/*
 * A payout as Redis keeps it: one JSON array, in the block of its line.
 *
 *   [version, state, due, history, …values]
 *
 * `state` is a letter (STATE_LETTERS), `due` the time at which the payout wants something, or 0. The history is a list of
 * [letter, time, actor, reason, exchange]: the first time is in milliseconds since 1970, each further one is the difference from
 * the one before; an actor 0 is that of the step before; blanks at the end are left out. The values stand in the order of
 * PLACES, 0 for one that is absent, and end with the last one that is there.
 */

export type RowState = PayoutState | 'refused';

/** One byte for each state, in the record and in the string of a run's states. */
export const STATE_LETTERS: Readonly<Record<RowState, string>> = {
  ready: 'r',
  armed: 'a',
  quoted: 'q',
  unknown: 'u',
  held: 'h',
  accepted: 'p',
  rejected: 'j',
  cancelled: 'x',
  completed: 'c',
  failed: 'f',
  returned: 'b',
  refused: 'z',
};

const STATES: ReadonlyMap<string, RowState> = new Map(
  ([...PAYOUT_STATES, 'refused'] as const).map((state) => [STATE_LETTERS[state], state]),
);

/** The values of a record by name (place-names.ts says what each is), in the order in which they stand. */
// biome-ignore format: a line for each group of them
export const PLACES = [
  'rh', 'ref', 'ben', 'amt', 'typ', 'src', 'dst',
  'q', 'x', 'at', 'ar', 'qn', 'ct', 'by', 'aa', 'cf', 'sam', 'dam', 'rt', 'fe', 'qa', 'ql',
  'st', 'ps', 'pid', 'org', 'sco', 'dco', 'poc', 'pic', 'pur', 'soc',
  'rc', 'rs', 'nf', 'z2', 'lu', 'ok', 'qf', 'ld', 'lc', 'lb', 'al', 'cx', 'qs', 'rfh', 'pr',
  'cells', 'code', 'msg', 'gu',
] as const;

const INDEX = new Map<string, number>(PLACES.map((name, index) => [name, index]));
/** Whole numbers, which stand without quotation marks. */
// biome-ignore format: a line for each group of them
const NUMBERS = new Set([
  'x', 'at', 'ar', 'qn', 'ct', 'aa', 'qa', 'ql', 'st', 'nf', 'z2', 'lu', 'ok', 'qf', 'ld', 'gu',
]);
const IS_NUMBER = PLACES.map((name) => NUMBERS.has(name));

const HEADER = 4;

/** A step of the history as it stands in the record. */
export type StoredStep = readonly [letter: string, at: number, actor: string | 0, reason?: string, exchange?: string];

/** A time by Redis's clock: a number, or what the commit adds to the moment at which it happens. */
export type StoredTime = number | { readonly fromNowMs: number };

export interface StoredPayout {
  /** As it was read; of one that is to be written, what it was made from. */
  readonly text: string;
  readonly version: number;
  readonly state: RowState;
  /** 0: it wants nothing. */
  readonly due: StoredTime;
  readonly history: readonly StoredStep[];
  /** By the names of PLACES; what is absent has no entry. */
  readonly values: ReadonlyMap<string, string>;
}

export function stateOfLetter(letter: unknown): RowState {
  const state = typeof letter === 'string' ? STATES.get(letter) : undefined;
  if (state === undefined) throw new LedgerFault(`a record has the unknown state ${JSON.stringify(letter)}`);
  return state;
}

/** Reads a record's text. Throws a LedgerFault for a damaged one. */
export function decode(text: string): StoredPayout {
  const array = parseArray(text);
  const [version, letter, due, history] = array;
  if (!isCount(version) || !isCount(due) || !isHistory(history)) throw damaged(text);
  const values = new Map<string, string>();
  for (let index = HEADER; index < array.length; index++) {
    const value = array[index];
    const name = PLACES[index - HEADER];
    if (value === 0 || name === undefined) continue;
    if (typeof value !== 'string' && !isCount(value)) throw damaged(text);
    values.set(name, String(value));
  }
  return { text, version, state: stateOfLetter(letter), due, history, values };
}

function parseArray(text: string): unknown[] {
  try {
    const parsed: unknown = JSON.parse(text);
    if (Array.isArray(parsed)) return parsed;
  } catch {}
  throw damaged(text);
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function isHistory(value: unknown): value is StoredStep[] {
  return Array.isArray(value) && value.every((step) => Array.isArray(step) && typeof step[1] === 'number');
}

function damaged(text: string): LedgerFault {
  return new LedgerFault(`a record is damaged: ${JSON.stringify(text.slice(0, 40))}`);
}

/** Stands in a text for the arming counter that the commit gives, and for its time; JSON has neither byte. */
const COUNTER = '\u0001\u0001';
const NOW = '\u0002';

const TIME_TOKEN = new RegExp(`${NOW}(-?[0-9]+)${NOW}`, 'g');

/** The value of a number that only the commit knows: its time, or the counter of an arming. */
export const COMMIT_TIME = NOW;
export const COMMIT_COUNTER = COUNTER;

/** The step that a commit adds to a history. */
export interface NewStep {
  readonly to: RowState;
  readonly actor: string;
  readonly reason: string;
  readonly exchange?: string | undefined;
}

/** A record as the commit writes it; the values may be COMMIT_TIME and COMMIT_COUNTER. `step` comes after its history. */
export function encode(record: StoredPayout, step?: NewStep): string {
  const values: string[] = PLACES.map(() => '0');
  let last = -1;
  for (const [name, value] of record.values) {
    const index = INDEX.get(name);
    if (index === undefined) throw new LedgerFault(`a record has no place for ${name}`);
    values[index] = IS_NUMBER[index] === true ? numberText(value) : JSON.stringify(value);
    if (index > last) last = index;
  }
  const head = [
    String(record.version),
    `"${STATE_LETTERS[record.state]}"`,
    timeText(record.due),
    historyText(record, step),
  ];
  return `[${head.join(',')}${last < 0 ? '' : `,${values.slice(0, last + 1).join(',')}`}]`;
}

function numberText(value: string): string {
  if (value === '') return '0';
  if (value === NOW) return `${NOW}0${NOW}`;
  if (value === COUNTER) return COUNTER;
  if (!/^[0-9]{1,16}$/.test(value)) throw new LedgerFault(`${JSON.stringify(value)} is no number of a record`);
  return String(Number.parseInt(value, 10));
}

/** Between two NOW: what the commit takes from its time. */
function timeText(time: StoredTime): string {
  return typeof time === 'number' ? String(time) : `${NOW}${-Math.ceil(time.fromNowMs)}${NOW}`;
}

function historyText({ history }: StoredPayout, step: NewStep | undefined): string {
  if (step === undefined) return JSON.stringify(history);
  const before = JSON.stringify(history).slice(1, -1);
  const isSame = actorOf(history) === step.actor;
  const words = [step.reason, step.exchange ?? ''];
  while (words.at(-1) === '') words.pop();
  const rest = [isSame ? '0' : JSON.stringify(step.actor), ...words.map((word) => JSON.stringify(word))].join(',');
  const at = history.reduce((sum, [, ms]) => sum + ms, 0);
  return `[${before}${before === '' ? '' : ','}["${STATE_LETTERS[step.to]}",${NOW}${at}${NOW},${rest}]]`;
}

/** Who made the last step. */
function actorOf(history: readonly StoredStep[]): string {
  for (let index = history.length - 1; index >= 0; index--) {
    const actor = history[index]?.[2];
    if (typeof actor === 'string') return actor;
  }
  return '';
}

/** The text as it stands once the commit happened at a time (ms since 1970), with the arming counter that it gave. */
export function committed(text: string, at: number, counter = 0): string {
  return text
    .replaceAll(TIME_TOKEN, (_token, before: string) => String(at - Number.parseInt(before, 10)))
    .replaceAll(COUNTER, String(counter));
}

import type { ApprovalRules } from '../../config/approval.ts';
import type { Calendar, Calendars, Weekday } from '../../config/calendars.ts';
import type { Limits } from '../../config/limits.ts';
import { LIMITS, type Limit } from '../../config/limits.ts';
import { formatAmount } from '../../money.ts';
import { shownCount } from '../parts/figures.ts';

/** What, and how it is. */
export type Fact = readonly [what: string, value: string];

const UNITS: readonly (readonly [ms: number, unit: string])[] = [
  [24 * 60 * 60_000, 'day'],
  [60 * 60_000, 'hour'],
  [60_000, 'minute'],
  [1000, 'second'],
];

/** A duration in the largest unit that tells it exactly. */
export function durationWords(ms: number): string {
  const [unitMs, unit] = UNITS.find(([one]) => ms >= one && ms % one === 0) ?? [1, 'millisecond'];
  const count = ms / unitMs;
  return `${shownCount(count)} ${unit}${count === 1 ? '' : 's'}`;
}

const LIMITED: Readonly<Record<Limit, string>> = {
  payout: 'a payout',
  run: 'a run',
  day: 'a day',
  beneficiary: 'a beneficiary on one day',
};

/** The limits in words, one fact a currency. */
export function limitFacts(limits: Limits | null): Fact[] {
  if (limits === null) return [['Limits', 'none are set: any amount is paid']];
  const beyond = limits.over === 'refuse' ? 'is rejected' : 'is held for people';
  return [
    ['Beyond a limit', `a payout ${beyond}; a day begins at midnight in ${limits.zone}`],
    ...[...limits.currencies].map(([currency, most]): Fact => {
      const texts = LIMITS.flatMap((limit) => {
        const minor = most[limit];
        return minor === undefined ? [] : [`${formatAmount({ minor, currency })} ${currency} for ${LIMITED[limit]}`];
      });
      return [currency, texts.length === 0 ? 'no limit' : texts.join('; ')];
    }),
  ];
}

/** The rules of approval in words, one fact a currency where it has tiers. */
export function approvalFacts(rules: ApprovalRules | null): Fact[] {
  if (rules === null) return [['Approval', 'off: a run is paid as soon as it is recorded']];
  const holds: Fact = ['An approval holds', durationWords(rules.holdsMs)];
  if (rules.tiers === null) return [['Approval', 'each run needs one approval, by somebody else'], holds];
  const tiers = [...rules.tiers].map(([currency, list]): Fact => {
    const texts = list.map(
      ({ from, approvals }) => `from ${formatAmount({ minor: from, currency })} ${currency}: ${peopleWords(approvals)}`,
    );
    return [currency, texts.join('; ')];
  });
  return [['Approval', "by a run's total in each currency; one without tiers needs one approval"], ...tiers, holds];
}

function peopleWords(count: number): string {
  if (count === 0) return 'nobody';
  return count === 1 ? 'one person' : `${count} people`;
}

/** Banking days in words, one fact a currency. */
export function calendarFacts(calendars: Calendars): Fact[] {
  const facts = Object.entries(calendars).flatMap(([currency, calendar]): Fact[] =>
    calendar === undefined ? [] : [[currency, calendarWords(calendar)]],
  );
  return facts.length === 0 ? [['Calendars', 'none are set: each currency is always open']] : facts;
}

function calendarWords({ zone, opens, cutOff, weekend, holidays }: Calendar): string {
  const closed = weekend.length === 0 ? 'on no day of the week' : `on ${weekend.map((day) => DAYS[day]).join(', ')}`;
  const dates = [...holidays].toSorted();
  const shown = dates.slice(0, HOLIDAYS_SHOWN).join(', ');
  const more = dates.length > HOLIDAYS_SHOWN ? ` and ${shownCount(dates.length - HOLIDAYS_SHOWN)} more` : '';
  return `from ${opens} to before ${cutOff} in ${zone}; closed ${closed}${dates.length === 0 ? '' : `, and on ${shown}${more}`}`;
}

const HOLIDAYS_SHOWN = 30;
const DAYS: Readonly<Record<Weekday, string>> = {
  sun: 'Sundays',
  mon: 'Mondays',
  tue: 'Tuesdays',
  wed: 'Wednesdays',
  thu: 'Thursdays',
  fri: 'Fridays',
  sat: 'Saturdays',
};

import type { ProblemCode } from '../problems/problem-kinds.ts';

const LONG_NUMBER = /^[1-9][0-9]{14}0+$/;
/** As other programs write it, too: one digit, then a fraction or a plus. */
const SCIENTIFIC_REFERENCE = /^[0-9](?:[.,][0-9]+E[+-]?|E\+)[0-9]+$/i;
/** Such a number as well, or somebody's own key: one hexadecimal number of eight digits in sixty looks so. */
const MAYBE_SCIENTIFIC = /^[0-9]+(?:\.[0-9]+)?E-?[0-9]+$/i;
/** The months of English, German, French, Spanish, Portuguese, Italian and Dutch, short and in full, without accents. */
const MONTH_NAMES =
  'jan janv ene gen january januar janner janvier enero janeiro gennaio januari ' +
  'feb fev fevr february februar feber fevrier febrero fevereiro febbraio februari ' +
  'mar mars mrz mrt march marz marzo marco maart apr avr abr april avril abril aprile may mai mag mei mayo maio maggio ' +
  'jun juin giu june juni junio junho giugno jul juil lug july juli juillet julio julho luglio ' +
  'aug aou aout ago august agosto augustus sep sept set september septembre septiembre setiembre setembro settembre ' +
  'oct okt ott out october oktober octobre octubre outubro ottobre nov november novembre noviembre novembro ' +
  'dec dez dic december dezember decembre diciembre dezembro dicembre';
const MONTH = `(?:${MONTH_NAMES.replaceAll(' ', '|')})`;
/** Of the same languages. */
const WEEKDAY_NAMES =
  'monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag freitag samstag sonnabend ' +
  'sonntag lundi mardi mercredi jeudi vendredi samedi dimanche lunes martes miercoles jueves viernes sabado domingo ' +
  'segunda-feira terca-feira quarta-feira quinta-feira sexta-feira lunedi martedi mercoledi giovedi venerdi sabato ' +
  'domenica maandag dinsdag woensdag donderdag vrijdag zaterdag zondag';
const WEEKDAY = `(?:(?:${WEEKDAY_NAMES.replaceAll(' ', '|')}),? )?`;
const DAY = '[0-3]?[0-9]';
/** What a spreadsheet makes of 3-4: 3-Apr, 03. Apr, 3-Apr-26, 3-April; as a long date 3 de abril de 2026. */
const DAY_AND_MONTH = new RegExp(
  `^${WEEKDAY}${DAY}(?:[-/ ]|\\. ?| de )${MONTH}\\.?(?:(?:[-/ ]|, | de )[0-9]{2}(?:[0-9]{2})?)?$`,
  'i',
);
/** The long date of the United States: Friday, April 3, 2026. */
const MONTH_AND_DAY = new RegExp(`^${WEEKDAY}${MONTH}\\.? ${DAY}, [0-9]{4}$`, 'i');
const YEAR = '(?:(?:19|20)?[0-9]{2})';
/** A month, or a whole date in digits: what a spreadsheet makes of 4-2026, or somebody's own key. */
const MAYBE_DATE = new RegExp(
  `^(?:${MONTH}(?:[-/ ]|\\. ?)(?:${DAY}(?: [0-9]{4})?|${YEAR})|(?:19|20)[0-9]{2}([-/.])[01]?[0-9]\\1${DAY}|${DAY}([-/.])${DAY}\\2${YEAR})$`,
  'i',
);
const ASCII = /^[ -~]*$/;

function withoutAccents(value: string): string {
  return ASCII.test(value) ? value : value.normalize('NFD').replaceAll(/\p{M}/gu, '');
}

/** What a spreadsheet made of a reference without a doubt. */
export function mangledReference(value: string): ProblemCode | undefined {
  if (SCIENTIFIC_REFERENCE.test(value)) return 'E_SCIENTIFIC';
  const isInCapitals = value === value.toUpperCase();
  const plain = withoutAccents(value);
  return (DAY_AND_MONTH.test(plain) || MONTH_AND_DAY.test(plain)) && !isInCapitals ? 'E_DATE' : undefined;
}

/**
 * What is odd about a reference that is taken. Plain digits are an honest reference, also
 * where a spreadsheet may have meant a day by them; months in capital letters are no spreadsheet's.
 */
export function oddReference(value: string): ProblemCode | undefined {
  if (LONG_NUMBER.test(value)) return 'W_LONG_NUMBER';
  if (MAYBE_SCIENTIFIC.test(value)) return 'W_SCIENTIFIC';
  return MAYBE_DATE.test(value) || DAY_AND_MONTH.test(value) ? 'W_DATE' : undefined;
}

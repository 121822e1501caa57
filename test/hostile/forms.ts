import type { Names, Route } from '../web/whole-site.ts';

/** Beginning, what is repeated, and end of a text that makes careless code slow or large. */
export const HOSTILE_TEXTS: readonly (readonly [what: string, begin: string, again: string, end: string])[] = [
  ['blanks before a letter', '', ' ', 'x'],
  ['blanks within words', 'x', ' ', 'x'],
  ['line ends', '', '\r\n', 'x'],
  ['an address without end', 'https://', ':', ''],
  ['an address with many users', 'https://', 'x:x@', ''],
  ['addresses one after another', '', 'a://', ''],
  ['zeros before a letter', '1', '0', 'x'],
  ['numbers with exponents', '', '1e9', ''],
  ['commas', '', ',', ''],
  ['ranges of a schedule', '', '0-59/1,', '0'],
  ['quotes and strokes', '', '"\\', ''],
  ['marks of HTML', '', '<a ', ''],
  ['marks of addresses', '', '%25', ''],
  ['folders above', '', '../', ''],
  ['accents of one letter', 'a', '\u0301', ''],
  ['letters that become eighteen', '', '\uFDFA', ''],
  ['characters of two halves', '', '\u{1F600}', ''],
];

/** A text of so many bytes at most in a form. */
export function hostileText([, begin, again, end]: (typeof HOSTILE_TEXTS)[number], bytesMax: number): string {
  const left = bytesMax - bytesOf(begin) - bytesOf(end);
  return begin + again.repeat(Math.floor(left / bytesOf(again))) + end;
}

function bytesOf(text: string): number {
  return new URLSearchParams({ '': text }).toString().length - 1;
}

/** Something that each field of any form takes. */
export const FIELDS: Names = {
  reason: 'a test',
  name: 'nina',
  role: 'viewer',
  days: '3',
  id: '7d9f1c1e-5f0a-4c56-9f5e-2b1d3c4a5e6f',
  decision: 'drop',
  paymentId: '',
  cron: '0 0 * * *',
  zone: 'UTC',
  act: 'start',
  dir: '',
  window: '1h',
  head: '',
  before: '',
  sha256: '',
  digest: '',
  kind: 'change',
  password: 'four words for no one',
  newPassword: 'four words for no one',
  repeated: 'four words for no one',
  next: '/runs',
};

/** The fields of each form; with others it is refused. */
const FORMS: readonly (readonly [RegExp, string])[] = [
  [/\/(pause|resume|cancel|halt)$/, 'reason'],
  [/\/decide$/, 'decision paymentId reason'],
  [/\/approve$/, 'sha256 digest'],
  [/\/block-list$/, 'id reason'],
  [/\/unblock$/, 'id'],
  [/\/schedules$/, 'name cron zone act dir window'],
  [/\/adopt$/, 'before'],
  [/\/(users|role)$/, 'name role'],
  [/\/keys$/, 'name role days'],
  [/\/(enable|disable|reset|revoke|remove)$/, 'name'],
  [/\/verify$/, 'head'],
  [/\/sign-in$/, 'name password next'],
  [/\/password$/, 'name kind password newPassword repeated'],
];

/** The names of the fields of a form. */
export function formOf(route: Route): readonly string[] {
  return FORMS.find(([path]) => path.test(route))?.[1].split(' ') ?? [];
}

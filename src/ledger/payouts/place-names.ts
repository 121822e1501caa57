import { decode, PLACES } from './stored.ts';

/** What stands in each place of a record (stored.ts says how). Times are in milliseconds since 1970, amounts in minor units. */
const NAMES: Readonly<Record<(typeof PLACES)[number], string>> = {
  rh: 'seal of the row',
  ref: 'reference',
  ben: 'beneficiary',
  amt: 'amount',
  typ: 'amount type: S source, D destination',
  src: 'source currency',
  dst: 'destination currency',
  q: 'quote',
  x: 'end of the quote',
  at: 'attempts',
  ar: 'armings of this quote',
  qn: 'quotes',
  ct: 'arming counter',
  by: 'armed by',
  aa: 'armed at',
  cf: 'fingerprint of the credentials',
  sam: 'source amount',
  dam: 'destination amount',
  rt: 'rate',
  fe: 'fees: minor units, or minor units/digits, and currency',
  qa: 'quoted at',
  ql: 'life of the quote in ms',
  st: 'settled at',
  ps: "the service's state of the payment",
  pid: 'payment, where it is not the quote',
  org: 'originator',
  sco: 'source country',
  dco: 'destination country',
  poc: 'payout category',
  pic: 'payin category',
  pur: 'purpose code',
  soc: 'source of cash',
  rc: 'reason code',
  rs: 'reason',
  nf: 'first "not found" that counts',
  z2: 'the service began to say yes',
  lu: 'look-ups',
  ok: 'the rejection is confirmed',
  qf: 'quotes that failed in a row',
  ld: 'day on which it counts for the limits, since 1970',
  lc: 'as what it counts there',
  lb: 'hash of its beneficiary there',
  al: "seal of two people's word that no limit counts",
  cx: 'cost limit (debited, arrives, drift in basis points; - where it was lifted) and its seal',
  qs: 'seal of a quote that may be armed again',
  rfh: 'hash of the reference of a suspected duplicate',
  pr: 'what a person proposes: decision, who, when, payment, reason, what was seen, seal',
  cells: 'cells of a refused row',
  code: 'problem code of a refused row',
  msg: 'problem of a refused row',
  gu: 'people gave it up, and Redis forgot that',
};

/** What a record's text says, each with its place in the text, from 0, and what it is. Throws a LedgerFault for a damaged one. */
export function namedPlaces(text: string): readonly (readonly [place: number, name: string, value: string])[] {
  const { version, state, due, history, values } = decode(text);
  const head = [version, state, due, history].map((value) =>
    typeof value === 'string' ? value : JSON.stringify(value),
  );
  const names = ['version', 'state', 'wants something at', 'history: state, time, by, reason, exchange'];
  return [
    ...names.map((name, place) => [place, name, head[place] ?? ''] as const),
    ...PLACES.flatMap((short, index) => {
      const value = values.get(short);
      return value === undefined ? [] : [[index + names.length, `${short}: ${NAMES[short]}`, value] as const];
    }),
  ];
}

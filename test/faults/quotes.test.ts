import { expect } from 'vitest';
import { type Rig } from './rig.ts';
import { faultRow } from './row.ts';
import { askedAgain, type Fault, odds, reported, struck, watchPayments } from './service-steps.ts';

/* Quotes: without an end, empty, several, for another amount, given twice, ended before they are paid. */

const ONCE = { short: 1, long: 2 } as const;

faultRow({
  ids: ['F42'],
  fault: 'the quote ends between the arming and the payment request',
  tries: ONCE,
  settings: { PAYRUN_CONCURRENCY: '4', PAYRUN_ARM_DEADLINE: '10s' },
  async body(rig) {
    await rig.submit();
    // Longer than a quote lives, and shorter than the arm deadline.
    const worker = await rig.startWorker('one', { crashAt: 'C6 BLOCK-1300 9' });
    await worker.said('at the crash point');
  },
  after: async (rig) => askedAgain(rig),
});

const FAILING: readonly Fault[] = [
  'quoteFails',
  'quoteEmpty',
  'quoteDrop',
  'quoteTimeout',
  'quoteError503',
  'quoteHtml',
  'quoteCut',
  'quoteDrip',
  'quoteUnauthorised',
  'quoteRedirect',
  'quoteExpired',
];

faultRow({
  ids: ['F43'],
  fault: 'quotes fail in every way, are missing, or have ended when they arrive',
  tries: ONCE,
  switches: odds(FAILING, 0.05),
  async body(rig) {
    await rig.submit();
    await rig.startWorker('one');
    await rig.until('enough quotes', () => rig.service.counters().quotes > rig.rows);
    await rig.booked(rig.rows / 2);
    rig.service.switches.set(odds(FAILING, 0));
  },
});

faultRow({
  ids: ['F43'],
  fault: 'quotes come in twos and more, the right one last, without amounts, with taxes, and at ten times the amount',
  tries: ONCE,
  switches: { quoteSeveral: 0.5, quoteTaxed: 0.3, quoteCostly: 0.3 },
  async body(rig) {
    await rig.submit();
    await rig.startWorker('one');
    await rig.booked(20);
    rig.service.switches.set({ ...odds(['quoteSeveral'], 0), quoteWithoutAmounts: true });
  },
});

/** The lines of the report that are held, each with this code and with no payment in the book. */
async function heldFor(rig: Rig, code: string): Promise<void> {
  const held = (await reported(rig)).filter(({ outcome }) => outcome === 'held');
  expect(held.length).toBeGreaterThan(0);
  const paid = new Set(rig.book().map(({ internalId }) => internalId));
  for (const { reference, reasonCode } of held) {
    expect({ reference, reasonCode, isPaid: paid.has(reference) }).toEqual({
      reference,
      reasonCode: code,
      isPaid: false,
    });
  }
}

faultRow({
  ids: ['F43'],
  fault: 'quotes are for another amount than ours: a person decides',
  tries: ONCE,
  switches: { quoteOtherAmount: 0.3 },
  outcomes: 'any',
  async body(rig) {
    await rig.submit();
    await rig.startWorker('one');
    await rig.booked(rig.rows / 2);
  },
  after: (rig) => heldFor(rig, 'E_QUOTE_AMOUNT'),
});

const LOST: readonly Fault[] = ['dropBeforeCommit', 'dropAfterCommit'];

faultRow({
  ids: ['F43'],
  fault: 'quotes show no end, and payment requests are lost: what was not paid is never sent again, a person decides',
  tries: ONCE,
  switches: { quoteWithoutExpiry: true, ...odds(LOST, 0.25) },
  outcomes: 'any',
  async body(rig) {
    const requests = watchPayments(rig);
    await struck(rig, LOST, rig.rows - 4);
    await rig.until('the end of all payouts', async () => {
      const { completed = 0, held = 0 } = await rig.states();
      return completed + held === rig.rows;
    });
    expect(new Set(requests.map(({ reference }) => reference)).size).toBe(requests.length);
  },
  after: (rig) => heldFor(rig, 'E_NOT_PROVABLE'),
});

faultRow({
  ids: ['F43'],
  fault: 'no quote is ever given: a person decides',
  tries: { long: 1 },
  rows: 10,
  switches: { emptyQuotes: true },
  outcomes: { held: 10 },
  tryMsMax: 5 * 60_000,
  async body(rig) {
    await rig.submit();
    await rig.startWorker('one');
    await rig.until('held payouts', async () => (await rig.states())['held'] === 10, 4 * 60_000);
  },
  after: (rig) => heldFor(rig, 'E_NO_QUOTE'),
});

/** The rig's first rows, all for the amount of the first: equal requests for a quote. */
function equalRows(rig: Rig, count: number): string {
  const [header = '', first = '', ...others] = rig.file.split('\n');
  const amountAt = header.split(',').indexOf('amount');
  const referenceAt = header.split(',').indexOf('reference');
  const lines = others.slice(0, count - 1).map((line) => {
    const cells = first.split(',');
    cells[referenceAt] = line.split(',')[referenceAt] ?? '';
    return cells.join(',');
  });
  expect(amountAt).toBeGreaterThan(0);
  return `${[header, first, ...lines].join('\n')}\n`;
}

const REPEATS = ['replay-201', '400', '404', '409'] as const;

faultRow({
  ids: ['F65'],
  fault: 'equal requests get the same quote as long as it lives, and repeats get 201, 400, 404 and 409 in turn',
  tries: ONCE,
  rows: 8,
  switches: { sameQuoteForEqualRequests: true, completesAfterMs: 200 },
  outcomes: 'any',
  async body(rig) {
    const requests = watchPayments(rig);
    await rig.submit({ file: equalRows(rig, rig.rows) });
    await rig.startWorker('one');
    let turn = 0;
    await rig.until('the end of all payouts', async () => {
      rig.service.switches.set({ repeatedQuote: REPEATS[turn++ % REPEATS.length] });
      const { completed = 0, held = 0 } = await rig.states();
      return completed + held === rig.rows;
    });
    // Each quote was armed for one row alone.
    const rowsOfQuote = new Map(requests.map(({ quoteId, reference }) => [`${quoteId} ${reference}`, quoteId]));
    expect(new Set(rowsOfQuote.values()).size).toBe(rowsOfQuote.size);
  },
  async after(rig) {
    const lines = await reported(rig);
    const paid = lines.filter(({ outcome }) => outcome === 'paid');
    expect(new Set(paid.map(({ paymentId }) => paymentId)).size).toBe(paid.length);
    expect(rig.book()).toHaveLength(paid.length);
  },
});

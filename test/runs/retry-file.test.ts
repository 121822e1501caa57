import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { checkPayoutFile } from '../../src/intake/check-file.ts';
import { csvLine } from '../../src/intake/csv/csv-line.ts';
import { parseTemplate } from '../../src/intake/template/file.ts';
import type { Template } from '../../src/intake/template/template.ts';
import type { Payout, PayoutState, Run } from '../../src/payout.ts';
import { findRetryRows } from '../../src/runs/after/retry-file.ts';
import { submitRun } from '../../src/runs/hand-in/submit.ts';
import { messageXml, paymentXml, transferXml } from '../intake/payment-message.ts';
import { rowXml, workbookOf } from '../intake/workbook-file.ts';
import { useTestRedis } from '../support/redis.ts';
import { openTestApp } from './opened-app.ts';
import { armPayout, movePayout } from './recorded-run.ts';

const ID = '3f0c7a52-6b1d-4c8e-9a34-5d2e8b7f1c60';

/** One of its own for each row, for equal payouts are held as likely duplicates. */
function idOf(index: number): string {
  return `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
}

const server = await useTestRedis();
let app: App;
let folder: string;

beforeEach(async () => {
  app = await openTestApp(server.url);
  folder = mkdtempSync(join(tmpdir(), 'payrun-retry-'));
});
afterEach(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

async function submit(text: string | Buffer, name = 'payouts.csv', template?: Template): Promise<Run> {
  const path = join(folder, name);
  writeFileSync(path, text);
  const intake = template === undefined ? {} : { template };
  const submitted = await submitRun(app, { path, actor: 'test', skipInvalid: true, intake });
  if (submitted.kind === 'refused') throw new Error(JSON.stringify(submitted.checked.problems));
  return submitted.run;
}

const AMOUNTS = ['12.5', '900', '3.25'];

/** A row for each reference, from line 2 on. */
function fileOf(references: readonly string[]): string {
  const rows = references.map((reference, index) => `MXN,${reference},USD,${AMOUNTS[index % 3]},${idOf(index)}`);
  return `${['destinationCurrency,reference,sourceCurrency,amount,beneficiaryIdentityId', ...rows].join('\n')}\n`;
}

async function bring(runId: string, line: number, ...states: PayoutState[]): Promise<void> {
  const place = { runId, line };
  if (states[0] === 'armed') {
    await armPayout(app.ledger, place, `quote-${runId}-${line}`);
    await movePayout(app.ledger, place, ...states.slice(1));
  } else await movePayout(app.ledger, place, ...states);
}

async function textOf(runId: string): Promise<string> {
  let text = '';
  for await (const chunk of (await findRetryRows(app, runId)).text()) text += chunk;
  return text;
}

function referencesIn(text: string): string[] {
  const [header = '', ...lines] = text.trimEnd().split('\r\n');
  const at = header.split(',').indexOf('reference');
  return lines.map((line) => line.split(',')[at] ?? '');
}

async function payouts(runId: string): Promise<Payout[]> {
  const all: Payout[] = [];
  for await (const batch of app.ledger.runs.rows(runId)) all.push(...batch.filter((row) => 'row' in row));
  return all;
}

function templateOf(more: object): Template {
  const template = parseTemplate(JSON.stringify({ name: 'theirs', ...more }));
  if (Array.isArray(template)) throw new Error(template.join());
  return template;
}

function sample(name: string): string {
  return readFileSync(join(import.meta.dirname, '../../samples', name), 'utf8');
}

/** What a row says, apart from its line. */
function rowsOf(all: readonly Payout[]): object[] {
  return all.map(({ row: { line: _line, ...row } }) => row);
}

/** Cancels all payouts of a run, hands its retry file in with the same template, and gives the text and both runs' rows. */
async function handInAgain(run: Run, template: Template): Promise<{ text: string; first: object[]; again: object[] }> {
  const first = await payouts(run.id);
  for (const { line } of first) await movePayout(app.ledger, { runId: run.id, line }, 'cancelled');
  const text = await textOf(run.id);
  const path = join(folder, 'again.csv');
  writeFileSync(path, text);
  expect(await checkPayoutFile(path, { template })).toMatchObject({ problemsTotal: 0, warnings: [] });
  const again = await submitRun(app, { path, actor: 'test', skipInvalid: false, again: true, intake: { template } });
  if (again.kind === 'refused') throw new Error('refused');
  return { text, first: rowsOf(first), again: rowsOf(await payouts(again.run.id)) };
}

describe('the retry file of a file that a template read', () => {
  test.each(['semicolon', 'erp-export'])('is read by the same template, with the same rows: %s', async (name) => {
    const parsed = parseTemplate(sample(`templates/${name}.json`));
    if (Array.isArray(parsed)) throw new Error(parsed.join());
    const run = await submit(sample(`${name}.csv`), `${name}.csv`, parsed);
    const { text, first, again } = await handInAgain(run, parsed);
    expect(again).toEqual(first);
    expect(first.length).toBeGreaterThan(1);
    expect((await findRetryRows(app, run.id)).template).toBe(name);
    expect(text.split('\r\n')[0]).toBe(
      name === 'semicolon'
        ? 'Belegnummer;Empfänger-ID;Betrag;Zielwährung;Zielland;Zweck'
        : 'DOC_NO,VENDOR_IDENTITY,VENDOR_COUNTRY,NET_AMOUNT,LOCAL_CURRENCY,PAYMENT_CURRENCY,PURPOSE',
    );
  });

  test.each([',', ';', '\t', '|'] as const)(
    'keeps the delimiter %j, the decimal mark and any name',
    async (delimiter) => {
      const template = templateOf({
        delimiter,
        decimalMark: ',',
        columns: { amount: 'Sum, "net" = 100 %; a|b: +', reference: 'R:=,' },
        fixed: { sourceCurrency: 'USD', payoutCategory: 'A; "B", C|D' },
      });
      const names = ['Sum, "net" = 100 %; a|b: +', 'R:=,', 'beneficiaryIdentityId', 'destinationCurrency'];
      const fileWith = (...amounts: string[]): string =>
        [names, ...amounts.map((amount, index) => [amount, `INV-${index}`, idOf(index), 'MXN'])]
          .map((cells) => csvLine(cells, delimiter))
          .join('');
      const run = await submit(fileWith('12,5', '9', '1234567,89'), 'theirs.csv', template);
      const { text, first, again } = await handInAgain(run, template);
      expect(again).toEqual(first);
      expect(text).toBe(fileWith('12,50', '9,00', '1234567,89'));
    },
  );

  test('of a workbook is CSV in the same columns', async () => {
    const template = templateOf({ columns: { amount: 'Betrag' }, delimiter: ';', decimalMark: ',' });
    const header = ['reference', 'beneficiaryIdentityId', 'Betrag', 'sourceCurrency', 'destinationCurrency'];
    const rows = [header, ['ONE', idOf(1), '10,50', 'USD', 'MXN'], ['TWO', idOf(2), '7,00', 'USD', 'MXN']];
    const workbook = workbookOf({ sheets: [{ rows: rows.map((cells, at) => rowXml(at + 1, cells)).join('') }] });
    const { text, first, again } = await handInAgain(await submit(workbook, 'theirs.xlsx', template), template);
    expect(again).toEqual(first);
    expect(text).toBe(rows.map((cells) => csvLine(cells, ';')).join(''));
  });

  test('of a payment message is CSV that its template reads', async () => {
    const template = templateOf({
      columns: { amount: 'Betrag' },
      decimalMark: ',',
      fixed: { sourceCurrency: 'EUR' },
      pain001: { creditorBy: 'creditorAccount', beneficiaries: { DE89370400440532013000: idOf(1) } },
    });
    const message = messageXml({
      count: '1',
      payments: [paymentXml({ debtorCurrency: '', transfers: [transferXml({ reference: 'ONE', amount: '7.5' })] })],
    });
    const { text, first, again } = await handInAgain(await submit(message, 'theirs.xml', template), template);
    expect(again).toEqual(first);
    expect(text).toContain(`ONE,${idOf(1)},"7,50",DESTINATION_AMOUNT,EUR,MXN,`);
  });

  test('names no template for a plain file', async () => {
    const { id } = await submit(fileOf(['ONE']));
    expect((await findRetryRows(app, id)).template).toBeNull();
  });
});

test('#83 of a corrected file the rows that were refused are payable, and those of the first run held with a link to it', async () => {
  const text = fileOf(['ONE', 'TWO', 'THREE']);
  const first = await submit(text.replace('900', '900.-'), 'first.csv');
  expect(first.counts).toMatchObject({ ready: 2, refused: 1 });
  await bring(first.id, 2, 'armed', 'accepted', 'completed');
  const corrected = await submit(text, 'corrected.csv');
  expect(corrected.id).not.toBe(first.id);
  expect((await payouts(corrected.id)).map(({ state, reasonCode, reason }) => [state, reasonCode, reason])).toEqual([
    ['held', 'E_DUP_HISTORY', expect.stringContaining(`${first.id}-2`)],
    ['ready', null, null],
    ['held', 'E_DUP_HISTORY', expect.stringContaining(`${first.id}-4`)],
  ]);
});

describe('a retry file', () => {
  test('has the rows whose references are free again, and no other', async () => {
    const states: Record<string, PayoutState[]> = {
      READY: [],
      ARMED: ['armed'],
      UNKNOWN: ['armed', 'unknown'],
      HELD: ['held'],
      'HELD-SENT': ['armed', 'unknown', 'held'],
      PENDING: ['armed', 'accepted'],
      PAID: ['armed', 'accepted', 'completed'],
      UNCONFIRMED: ['armed', 'rejected'],
      'NO-QUOTE': ['rejected'],
      FAILED: ['armed', 'accepted', 'failed'],
      RETURNED: ['armed', 'accepted', 'completed', 'returned'],
      CANCELLED: ['cancelled'],
      DROPPED: ['held', 'cancelled'],
    };
    const { id } = await submit(fileOf(Object.keys(states)));
    for (const [index, moves] of Object.values(states).entries()) await bring(id, index + 2, ...moves);
    expect(referencesIn(await textOf(id))).toEqual(['NO-QUOTE', 'FAILED', 'RETURNED', 'CANCELLED', 'DROPPED']);
    expect(await findRetryRows(app, id)).toMatchObject({ rows: 5, open: 7, refused: 0, duplicates: 0, isWhole: false });
  });

  test('has a rejected row that was sent once it is confirmed', async () => {
    const { id } = await submit(fileOf(['ONE', 'TWO']));
    await bring(id, 2, 'armed', 'rejected');
    expect(await findRetryRows(app, id)).toMatchObject({ rows: 0, open: 2 });
    await app.ledger.payouts.move({
      runId: id,
      line: 2,
      actor: 'test',
      reason: 'confirmed',
      values: { rejectionConfirmed: true },
    });
    expect(referencesIn(await textOf(id))).toEqual(['ONE']);
  });

  test('does not have a row that was dropped because an earlier payout has its reference', async () => {
    const first = await submit(fileOf(['ONE', 'TWO']), 'first.csv');
    await bring(first.id, 2, 'armed', 'accepted', 'completed');
    const second = await submit(fileOf(['ONE', 'THREE']), 'second.csv');
    await bring(second.id, 2, 'cancelled');
    await bring(second.id, 3, 'cancelled');
    expect(referencesIn(await textOf(second.id))).toEqual(['THREE']);
    expect(await findRetryRows(app, second.id)).toMatchObject({ rows: 1, duplicates: 1 });
  });

  test('has the columns of its own file in their order, and each value exactly', async () => {
    const { id } = await submit(fileOf(['ONE', 'TWO', 'THREE', 'PAID']));
    for (const line of [2, 3, 4]) await bring(id, line, 'cancelled');
    expect(await textOf(id)).toBe(
      [
        'destinationCurrency,reference,sourceCurrency,amount,beneficiaryIdentityId',
        `MXN,ONE,USD,12.50,${idOf(0)}`,
        `MXN,TWO,USD,900.00,${idOf(1)}`,
        `MXN,THREE,USD,3.25,${idOf(2)}`,
        '',
      ].join('\r\n'),
    );
  });

  test('has every column that a row needs, where those of its file were not noted', async () => {
    const header =
      'reference,beneficiaryIdentityId,amount,sourceCurrency,destinationCurrency,amountType,payoutCategory,purposeCode';
    const { id } = await submit(
      `${header}\nONE,${ID},10,USD,JPY,DESTINATION_AMOUNT,"BANK, ""old"" kind",\nTWO,${ID},1.500,BHD,USD,,,SALA\nTHREE,${ID},5,USD,MXN,,,\n`,
    );
    await app.ledger.runs.note(id, { columns: '' });
    for (const line of [2, 3]) await bring(id, line, 'cancelled');
    expect(await textOf(id)).toBe(
      [
        header,
        `ONE,${ID},10,USD,JPY,DESTINATION_AMOUNT,"BANK, ""old"" kind",`,
        `TWO,${ID},1.500,BHD,USD,SOURCE_AMOUNT,,SALA`,
        '',
      ].join('\r\n'),
    );
  });

  test('leaves out rows that intake refused, and counts them', async () => {
    const { id } = await submit(fileOf(['ONE', 'TWO', 'THREE']).replace('USD,900', 'XXX,900'));
    await bring(id, 2, 'cancelled');
    expect(referencesIn(await textOf(id))).toEqual(['ONE']);
    expect(await findRetryRows(app, id)).toMatchObject({ rows: 1, open: 1, refused: 1 });
  });

  test('is a payout file without problems, and its rows are payable when it is submitted', async () => {
    const references = Array.from({ length: 1200 }, (_, index) => `INV-${index}`);
    const { id } = await submit(fileOf(references));
    for (let line = 2; line < 1202; line += 3) await movePayout(app.ledger, { runId: id, line }, 'cancelled');
    const path = join(folder, 'again.csv');
    writeFileSync(path, await textOf(id));
    expect(await checkPayoutFile(path)).toMatchObject({ rows: 400, valid: 400, problemsTotal: 0, warnings: [] });
    const again = await submitRun(app, { path, actor: 'test', skipInvalid: false });
    if (again.kind === 'refused') throw new Error('refused');
    expect(again).toMatchObject({ isNew: true, run: { state: 'paying' } });
    expect(again.run.counts).toMatchObject({ ready: 400, held: 0 });
    const states = (await payouts(again.run.id)).map(({ state, row }) => `${state} ${row.reference}`);
    expect(states).toEqual(references.filter((_, index) => index % 3 === 0).map((reference) => `ready ${reference}`));
  });

  test('tells when it has every row of the run, for the same rows again are the same run', async () => {
    const { id } = await submit(fileOf(['ONE', 'TWO']));
    for (const line of [2, 3]) await bring(id, line, 'cancelled');
    expect(await findRetryRows(app, id)).toMatchObject({ rows: 2, isWhole: true });
  });

  test('is refused for a run that is not there', async () => {
    await expect(findRetryRows(app, 'nowhere')).rejects.toMatchObject({ name: 'Refusal', kind: 'usage' });
  });

  test('is refused for a run whose rows were removed', async () => {
    const { id } = await submit(fileOf(['ONE', 'TWO']));
    await app.ledger.runs.note(id, { purgedAt: '1767225600000' });
    await expect(findRetryRows(app, id)).rejects.toMatchObject({ name: 'Refusal', kind: 'usage' });
  });
});

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import { submitRun } from '../../src/runs/hand-in/submit.ts';
import { movePayout, recordRun } from '../runs/recorded-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { openApiRig } from './api-rig.ts';
import { openWebRig } from './rig.ts';

const HEADER = 'reference,beneficiaryIdentityId,amount,sourceCurrency,destinationCurrency';
const ANNA = 'aaaaaaaa-5f0a-4c56-9f5e-2b1d3c4a5e6f';
const BERT = 'bbbbbbbb-5f0a-4c56-9f5e-2b1d3c4a5e6f';
const CARL = 'cccccccc-5f0a-4c56-9f5e-2b1d3c4a5e6f';
/** Lines 2 to 6; that on line 5 is refused. */
const ROWS = [
  `B-2,${BERT},900.00,USD,MXN`,
  `C-3,${ANNA},1250.00,USD,MXN`,
  `A-4,${CARL},1000,JPY,KRW`,
  `D-5,nobody,80.00,USD,MXN`,
  `E-6,${ANNA},80.00,USD,MXN`,
];

const server = await useTestRedis();

async function openDesk() {
  const rig = await openWebRig(server.url);
  const path = join(rig.app.dir, 'rows.csv');
  writeFileSync(path, `${[HEADER, ...ROWS].join('\n')}\n`);
  const submitted = await submitRun(rig.app, { path, actor: 'anna', skipInvalid: true });
  if (submitted.kind === 'refused') throw new Error('it was refused');
  const runId = submitted.run.id;
  const anna = await rig.person('anna', 'viewer');
  /** The lines on the page, in their order. */
  const shown = async (query: string): Promise<number[]> => {
    const { status, text } = await anna.get(`/runs/${runId}/payouts?${query}`);
    expect({ query, status }).toEqual({ query, status: 200 });
    return [...text.matchAll(/<th scope="row"[^>]*><a href="[^"]+\/payouts\/([0-9]+)"/g)].map(([, line]) =>
      Number(line),
    );
  };
  return { ...rig, runId, anna, shown };
}

describe('the rows of a run', () => {
  test('are sorted by each column, up and down; amounts of one currency beside one another', async () => {
    const { shown, app, runId } = await openDesk();
    await movePayout(app.ledger, { runId, line: 2 }, 'held');
    for (const [sort, lines] of [
      ['line', [2, 3, 4, 5, 6]],
      ['-line', [6, 5, 4, 3, 2]],
      ['reference', [4, 2, 3, 5, 6]],
      ['-reference', [6, 5, 3, 2, 4]],
      ['beneficiary', [3, 6, 2, 4, 5]],
      ['amount', [4, 5, 6, 2, 3]],
      ['-amount', [4, 3, 2, 5, 6]],
      ['outcome', [3, 4, 6, 2, 5]],
      ['-outcome', [5, 2, 3, 4, 6]],
    ] as const) {
      expect({ sort, lines: await shown(`sort=${sort}`) }).toEqual({ sort, lines });
    }
  });

  test('are sorted and found by the name that the service lists, once it does', async () => {
    const { shown, app } = await openDesk();
    await app.ledger.names.note(new Map([[ANNA, 'Zebra Paper']]), 1);
    expect(await shown('sort=beneficiary')).toEqual([2, 4, 5, 3, 6]);
    expect(await shown('text=zebra')).toEqual([3, 6]);
  });

  test('are filtered by outcome, currency, amount and text, each and together', async () => {
    const { shown, app, runId } = await openDesk();
    await movePayout(app.ledger, { runId, line: 2 }, 'held');
    expect(await shown('currency=USD')).toEqual([2, 3, 5, 6]);
    expect(await shown('amountFrom=900')).toEqual([2, 3, 4]);
    expect(await shown('amountFrom=900.01&amountTo=1%2C250.00')).toEqual([3, 4]);
    expect(await shown('amountTo=80&outcome=waiting')).toEqual([6]);
    expect(await shown('amountTo=80&outcome=refused')).toEqual([5]);
    expect(await shown('currency=USD&amountFrom=80&outcome=waiting&sort=-amount&text=-')).toEqual([3, 6]);
    expect(await shown('currency=EUR')).toEqual([]);
  });

  test('keep what they are sorted and filtered by in the links to other pages, to columns and to the file', async () => {
    const { app, person } = await openWebRig(server.url);
    const runId = await recordRun(app.ledger, { lines: Array.from({ length: 60 }, (_, index) => index + 2) });
    const anna = await person('anna', 'viewer');
    const { text } = await anna.get(`/runs/${runId}/payouts?currency=USD&amountFrom=1&sort=-line&page=2`);
    expect(text).toContain('Rows 26 to 50 of 60');
    const to = (query: string): string => `href="/runs/${runId}/${query.replaceAll('&', '&amp;')}"`;
    expect(text).toContain(to('payouts?currency=USD&amountFrom=1&sort=-line&page=3'));
    expect(text).toContain(to('payouts?currency=USD&amountFrom=1&sort=-amount'));
    expect(text).toContain(to('payouts.csv?currency=USD&amountFrom=1&sort=-line'));
    expect(text).toMatch(/<th [^>]*aria-sort="descending"[^>]*><a [^>]*>Line</);
    expect(text).toMatch(/<option value="USD" selected/);
    const csv = await anna.get(`/runs/${runId}/payouts.csv?currency=USD&amountFrom=1&sort=-line`);
    const rows: Record<string, string>[] = parse(csv.text, { columns: true });
    expect(rows.map(({ line }) => Number(line))).toEqual(Array.from({ length: 60 }, (_, index) => 61 - index));
  });

  test('are not shown for what no list is sorted or filtered by', async () => {
    const { anna, runId } = await openDesk();
    for (const query of ['sort=paid', 'currency=euro', 'amountFrom=-1', 'amountTo=1e9', 'amountTo=1.2345', 'page=0']) {
      const { status } = await anna.get(`/runs/${runId}/payouts?${query}`);
      expect({ query, status }).toEqual({ query, status: 400 });
    }
  });

  test('are sorted and filtered for programs by the same words', async () => {
    const { app, person, program } = await openApiRig(server.url);
    const runId = await recordRun(app.ledger, { lines: [2, 3], refused: [4] });
    await person('anna', 'viewer');
    const key = await program('reports', 'viewer');
    const { json } = await key.call('GET', `/runs/${runId}/payouts?currency=USD&amountFrom=80&sort=-line`);
    expect(json).toMatchObject([{ line: 4 }, { line: 3 }, { line: 2 }]);
  });
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import { armingLimits } from '../../src/pay/limits.ts';
import type { Payout } from '../../src/payout.ts';
import { blockBeneficiary } from '../../src/runs/block.ts';
import { type Foreseen, foresee } from '../../src/runs/hand-in/foresee.ts';
import { checkSubmission, type Submission, submitRun } from '../../src/runs/hand-in/submit.ts';
import { useTestRedis } from '../support/redis.ts';
import { openTestApp } from './opened-app.ts';

const HEADER = 'reference,beneficiaryIdentityId,amount,sourceCurrency,destinationCurrency';
const [ANNA, BERT, CORA] = ['a', 'b', 'c'].map((letter) => `${letter.repeat(8)}-5f0a-4c56-9f5e-2b1d3c4a5e6f`);

const server = await useTestRedis();

async function openDesk(settings: object = {}, env: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'payrun-foresee-'));
  const path = join(folder, 'config.json');
  writeFileSync(path, JSON.stringify(settings));
  const app = await openTestApp(server.url, { PAYRUN_CONFIG: path, ...env });
  onTestFinished(async () => {
    await app.close();
    rmSync(folder, { recursive: true, force: true });
  });
  let files = 0;
  const write = (rows: readonly string[]): Submission => {
    const file = join(folder, `${++files}.csv`);
    writeFileSync(file, `${[HEADER, ...rows].join('\n')}\n`);
    return { path: file, actor: 'anna', skipInvalid: true };
  };
  const look = async (submission: Submission): Promise<Foreseen> =>
    await foresee(app, { ...submission, checked: await checkSubmission(app, submission) });
  const handIn = async (submission: Submission): Promise<string> => {
    const submitted = await submitRun(app, submission);
    if (submitted.kind === 'refused') throw new Error('it was refused');
    return submitted.run.id;
  };
  return { app, write, look, handIn };
}

const row = (reference: string, beneficiary = ANNA, money = '10.00,USD'): string =>
  [reference, beneficiary, money.includes(',') ? money : `${money},USD`, 'MXN'].join(',');

/** Which rows are foreseen to stop, by code. */
const linesOf = ({ stopped }: Foreseen) => stopped.map(({ code, named }) => [code, named.map(({ line }) => line)]);

/** Arms what is ready, in file order, until each row is armed or was refused; gives the lines and what stood against them. */
async function armAll({ ledger, config, clock }: App, runId: string): Promise<(readonly [number, string])[]> {
  const refused: (readonly [number, string])[] = [];
  for await (const batch of ledger.runs.rows(runId)) {
    for (const payout of batch.filter((one): one is Payout => 'row' in one && one.state === 'ready')) {
      const limits = armingLimits(config.limits, { row: payout.row, sourceAmount: null, nowMs: clock.now() });
      const answer = await ledger.payouts.arm({
        runId,
        line: payout.line,
        version: payout.version,
        rowSeal: payout.seals.row,
        referenceHash: hashReference(payout.row.reference),
        quoteId: `q-${runId}-${payout.line}`,
        quoteExpiresAt: 1,
        owner: 'test',
        credentials: 'c1',
        dueMs: 60_000,
        exchange: '',

        limits,
      });
      if (!answer.armed) refused.push([payout.line, answer.refusal]);
    }
  }
  return refused;
}

describe('what handing a file in would come to', () => {
  test('is nothing but payments where nothing stands against it, and the ledger is as it was', async () => {
    const { app, write, look } = await openDesk();
    const file = write([row('A'), row('B', BERT, '250.00'), row('C', CORA, '40.00,EUR')]);
    const keys = await server.redis.keys(`${app.config.prefix}:*`);
    const foreseen = await look(file);
    expect(foreseen).toMatchObject({ knownRun: null, stopped: [], untold: 0, waiting: null, pays: { rows: 3 } });
    expect(foreseen.first.map(({ reference }) => reference)).toEqual(['A', 'B', 'C']);
    expect(foreseen.largest.map(({ reference }) => reference)).toEqual(['C', 'B', 'A']);
    expect((await server.redis.keys(`${app.config.prefix}:*`)).toSorted()).toEqual(keys.toSorted());
  });

  test('names the run that its content is already, unless its rows may be paid anew', async () => {
    const { app, write, look, handIn } = await openDesk();
    const rows = [row('A'), row('B', BERT)];
    const id = await handIn(write(rows));
    const again = { ...write(rows.toReversed()), again: true };
    expect(await look(again)).toMatchObject({ knownRun: { id, state: 'paying' }, stopped: [], pays: { rows: 0 } });
    await app.ledger.runs.move(id, { to: 'cancelled', actor: 'anna', reason: 'test' });
    for (const line of [2, 3])
      await app.ledger.payouts.move({ runId: id, line, to: 'cancelled', actor: 'anna', reason: 'test' });
    expect(await look({ ...again, again: false })).toMatchObject({ knownRun: { id, state: 'cancelled' } });
    expect(await look(again)).toMatchObject({ knownRun: null, pays: { rows: 2 } });
  });

  test('is what becomes of it then: references, likely duplicates in the file and before, in this order', async () => {
    const { app, write, look, handIn } = await openDesk({}, { PAYRUN_DUPLICATES_WITHIN: '7d' });
    const first = await handIn(write([row('A'), row('B', BERT)]));
    const file = write([
      row('a', CORA),
      row('C'),
      row('D', CORA, '99.00'),
      row('E', CORA, '99.00'),
      row('F', CORA),
      row('G', BERT, '11.00'),
    ]);
    const foreseen = await look(file);
    expect(linesOf(foreseen)).toEqual([
      ['E_DUP_HISTORY', [2]],
      ['E_DUP_LIKELY', [3, 5, 6]],
    ]);
    expect(foreseen.stopped[1]).toMatchObject({ becomes: 'held', rows: 3, totals: [{ minor: 11_900n }] });
    expect(foreseen.stopped.flatMap(({ named }) => named.map(({ other }) => other))).toEqual([
      `${first}-2`,
      `${first}-2`,
      'line 4 of this file',
      'line 2 of this file',
    ]);
    const id = await handIn(file);
    const held: (readonly [number, string | null])[] = [];
    for await (const batch of app.ledger.runs.rows(id, ['held']))
      for (const payout of batch) if ('row' in payout) held.push([payout.line, payout.reasonCode]);
    expect(held).toEqual([
      [2, 'E_DUP_HISTORY'],
      [3, 'E_DUP_LIKELY'],
      [5, 'E_DUP_LIKELY'],
      [6, 'E_DUP_LIKELY'],
    ]);
    expect(foreseen.pays).toMatchObject({ rows: 2, totals: [{ currency: 'USD', minor: 11_000n }] });
  });

  test('is what arming decides then: blocked beneficiaries, and limits with what was paid today', async () => {
    const most = { payout: '100.00', run: '250.00', day: '300.00', beneficiary: '120.00' };
    const { app, write, look, handIn } = await openDesk({ limits: { currencies: { USD: most } } });
    await blockBeneficiary(app, CORA ?? '', { actor: 'anna', reason: 'test' });
    await armAll(app, await handIn(write([row('A', ANNA, '60.01'), row('B', BERT, '50.00')])));
    const file = write([
      row('C', CORA, '1.00'),
      row('D', BERT, '100.01'),
      row('E', ANNA, '59.99'),
      row('F', ANNA, '1.00'),
      row('G', BERT, '70.00'),
      row('H', 'dddddddd-5f0a-4c56-9f5e-2b1d3c4a5e6f', '61.00'),
      row('I', 'eeeeeeee-5f0a-4c56-9f5e-2b1d3c4a5e6f', '60.00'),
      row('J', 'ffffffff-5f0a-4c56-9f5e-2b1d3c4a5e6f', '500.00,EUR'),
    ]);
    const foreseen = await look(file);
    expect(foreseen.stopped.map(({ code, reason, rows }) => [code, reason, rows])).toEqual([
      ['E_BLOCKED', 'the beneficiary is blocked', 1],
      ['E_LIMIT', 'it would pass the limit of 100.00 USD for a payout', 1],
      ['E_LIMIT', 'it would pass the limit of 120.00 USD for a beneficiary on one day', 1],
      ['E_LIMIT', 'it would pass the limit of 300.00 USD for a day', 1],
    ]);
    const refused = await armAll(app, await handIn(file));
    expect(refused).toEqual([
      [2, 'blocked'],
      [3, 'limit'],
      [5, 'limit'],
      [7, 'limit'],
    ]);
    const lines = foreseen.stopped.flatMap(({ named }) => named.map(({ line }) => line));
    expect(lines.toSorted((one, other) => one - other)).toEqual(refused.map(([line]) => line));
  });

  test('says of how many rows only a quote tells whether they pass a limit', async () => {
    const { write, look, app } = await openDesk({ limits: { currencies: { USD: { run: '15.00' } } } });
    const path = write([]).path;
    writeFileSync(path, `${HEADER},amountType\n${row('A')},DESTINATION_AMOUNT\n`);
    expect(await look({ path, actor: 'anna', skipInvalid: false })).toMatchObject({ untold: 1, pays: { rows: 1 } });
    expect(app.config.limits).not.toBeNull();
  });

  test('tells what the run would wait for', async () => {
    const shut = { zone: 'UTC', opens: '00:00', cutOff: '23:59', weekend: [], holidays: [] };
    const today = new Date().toISOString().slice(0, 10);
    const { write, look } = await openDesk({ calendars: { USD: { ...shut, holidays: [today] } } });
    const found = await look(write([row('A'), row('B')]));
    expect(found.waiting?.reason).toContain(`${today} is a holiday`);
    expect(found.cutOffs).toMatchObject([
      {
        currency: 'USD',
        cutOff: '23:59',
        shut: `USD: ${today} is a holiday (UTC)`,
        rows: 2,
        named: [{ line: 2 }, { line: 3 }],
      },
    ]);
  });

  test('of a large file takes one call for each 500 rows', async () => {
    const { app, write } = await openDesk({}, { PAYRUN_DUPLICATES_WITHIN: '7d' });
    const file = write(Array.from({ length: 1200 }, (_, at) => row(`R-${at}`, ANNA, `${at + 1}.00`)));
    const asked: number[] = [];
    const { foresight } = app.ledger;
    const counting: App['ledger'] = {
      ...app.ledger,
      foresight: {
        ...foresight,
        async against(rows, rememberMs) {
          asked.push(rows.length);
          return await foresight.against(rows, rememberMs);
        },
      },
    };
    const foreseen = await foresee(
      { ...app, ledger: counting },
      { ...file, checked: await checkSubmission(app, file) },
    );
    expect(foreseen.pays.rows).toBe(1200);
    expect(asked).toEqual([500, 500, 200]);
  });
});

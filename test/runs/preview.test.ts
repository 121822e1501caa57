import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../src/clock.ts';
import type { ServiceSettings } from '../../src/config/config.ts';
import { type Preview, type PreviewDeps, type PreviewOptions, previewFile } from '../../src/runs/preview/preview.ts';
import type { SandboxOptions } from '../../src/sandbox/sandbox.ts';
import type { Brake } from '../../src/service/brake.ts';
import type { Service } from '../../src/service/client.ts';
import { payoutFile } from '../cli/payrun.ts';
import { openSandbox } from '../sandbox/desk.ts';
import { openTestService } from '../service/test-service.ts';
import type { Answering } from '../support/answering-server.ts';
import { errorBody, type ScriptedService, startScriptedService } from '../support/scripted-service.ts';

let folder: string;
let scripted: ScriptedService;
let services: Service[];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'payrun-preview-test-'));
  scripted = await startScriptedService();
  services = [];
});
afterEach(async () => {
  await Promise.all(services.map((service) => service.close()));
  await scripted.close();
  rmSync(folder, { recursive: true, force: true });
});

function openBrake(): Brake {
  let until = 0;
  return {
    remainingMs: () => Math.max(0, until - systemClock.monotonic()),
    hold(ms) {
      until = systemClock.monotonic() + ms;
    },
  };
}

function depsOn(url: string, settings: Partial<ServiceSettings> = {}): PreviewDeps {
  const service = openTestService(url, { settings, brake: openBrake(), concurrency: 16 });
  services.push(service);
  return {
    service,
    clock: systemClock,
    random: systemRandom,
    defaults: { payoutCategory: 'BANK', payinCategory: 'PRE_FUNDING' },
    concurrency: 8,
    ratePerSecond: undefined,
    asksBalances: false,
  };
}

async function preview(text: string, options: Partial<PreviewOptions & { deps: PreviewDeps }> = {}): Promise<Preview> {
  const path = join(folder, 'payouts.csv');
  writeFileSync(path, text);
  const { deps = depsOn(scripted.server.url), ...others } = options;
  const signal = new AbortController().signal;
  return await previewFile(deps, path, { intake: {}, sample: undefined, signal, ...others });
}

const THREE = payoutFile([
  ['INV-1', '10.00'],
  ['INV-2', '20.00'],
  ['INV-3', '30.00'],
]);

function manyRows(count: number): string {
  return payoutFile(Array.from({ length: count }, (_, index) => [`INV-${index}`, `${10 + ((index * 31) % 977)}.50`]));
}

/** Answers of the scripted service for amounts that a test names; all others get a good quote. */
function answerFor(amount: number, status: number, json: unknown): void {
  const { onQuote } = scripted;
  scripted.onQuote = (request, answering) => {
    const asked: unknown = JSON.parse(request.body);
    const isMeant =
      typeof asked === 'object' && asked !== null && 'quoteAmount' in asked && asked.quoteAmount === amount;
    if (isMeant) scripted.reply(answering, { status, json });
    else void onQuote(request, answering);
  };
}

describe('a preview of a small file', () => {
  test('adds up what the quotes of all of its rows say, to the cent', async () => {
    const { corridors, funds, arriving, quoting, sample, costBasis } = await preview(THREE);
    expect(sample).toBe('all');
    expect(quoting).toMatchObject({ unquoted: [], unasked: 0, ended: null });
    expect(corridors).toMatchObject([
      {
        key: 'USD MXN SOURCE_AMOUNT own',
        rows: 3,
        quoted: 3,
        payable: 3,
        isEstimate: false,
        source: { minor: 6000n, currency: 'USD' },
        destination: { minor: 731_457n, currency: 'MXN' },
        fees: [{ minor: 750n, currency: 'USD' }],
        rates: { lowest: '19.75', highest: '19.75' },
      },
    ]);
    expect(funds).toEqual([{ currency: 'USD', amount: 6000n, fees: 750n, isEstimate: false }]);
    expect(arriving).toEqual([{ currency: 'MXN', amount: 731_457n, isEstimate: false }]);
    expect(costBasis.get('USD MXN SOURCE_AMOUNT own')).toEqual({
      mean: { debited: 6750n, arrives: 731_457n },
      worst: { debited: 3250n, arrives: 243_819n },
    });
  });

  test('sends nothing but quote requests, one a row, and one for the token', async () => {
    await preview(THREE);
    expect(scripted.server.requests.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual([
      'POST /v2/oauth/token',
      'POST /v2/quotes/quote-collection',
      'POST /v2/quotes/quote-collection',
      'POST /v2/quotes/quote-collection',
    ]);
    expect(scripted.book).toEqual([]);
  });

  test('names fees in other currencies beside the funds, as a booking does', async () => {
    scripted.onQuote = (request, answering) => {
      const fees = [
        { totalFee: 1, feeCurrency: 'USD' },
        { totalFee: 7, feeCurrency: 'MXN' },
        { totalFee: 3, feeCurrency: 'EUR' },
      ];
      scripted.reply(answering, { status: 201, json: { quotes: [scripted.quoteOf(request, { fees })] } });
    };
    const { funds, costBasis } = await preview(THREE);
    expect(funds.map(({ currency, amount, fees }) => [currency, amount, fees])).toEqual([
      ['EUR', 0n, 900n],
      ['MXN', 0n, 2100n],
      ['USD', 6000n, 300n],
    ]);
    expect(costBasis.size).toBe(0);
  });

  test('goes on without what quotes do not show, and says how many rows that leaves out', async () => {
    scripted.onQuote = (request, answering) => {
      const bare = scripted.quoteOf(request, { sourceAmount: null, destinationAmount: null });
      scripted.reply(answering, { status: 201, json: { quotes: [bare] } });
    };
    const found = await preview(THREE);
    expect(found).toMatchObject({ rowsUnpriced: 3, arriving: [], funds: [{ amount: 6000n, fees: 750n }] });
  });
});

describe('what the service refuses', () => {
  test('stands under its code with the row, and is in no figure', async () => {
    answerFor(20, 400, errorBody('USR_013'));
    const { quoting, funds, corridors } = await preview(THREE);
    expect(quoting.unquoted).toMatchObject([{ row: { reference: 'INV-2' }, outcome: 'rejected', code: 'USR_013' }]);
    expect(corridors).toMatchObject([{ rows: 3, payable: 2, unquoted: 1, isEstimate: false }]);
    expect(funds).toEqual([{ currency: 'USD', amount: 4000n, fees: 500n, isEstimate: false }]);
  });

  test('with another amount is told as held', async () => {
    answerFor(20, 201, { quotes: [{ quoteId: '00000000-0000-4000-8000-000000000001', sourceAmount: 21 }] });
    const { quoting } = await preview(THREE);
    expect(quoting.unquoted).toMatchObject([{ row: { reference: 'INV-2' }, outcome: 'held', code: 'E_QUOTE_AMOUNT' }]);
  });

  test('for all rows ends the asking, as it would pause a run', async () => {
    answerFor(10.5, 402, errorBody('USR_067', 402));
    const found = await preview(manyRows(100));
    expect(found.quoting.ended).toMatchObject({ code: 'USR_067' });
    expect(found.quoting.unasked).toBeGreaterThan(50);
    expect(found.quoting.unquoted).toMatchObject([{ outcome: 'waiting', code: 'USR_067' }]);
    expect(scripted.quotes()).toBeLessThan(50);
  });

  test('for a while is asked for again, and rows that never get a quote are told', async () => {
    answerFor(20, 201, { quotes: [] });
    const { quoting, funds } = await preview(THREE);
    expect(quoting.unquoted).toMatchObject([{ row: { reference: 'INV-2' }, outcome: 'waiting', code: 'E_NO_QUOTE' }]);
    expect(scripted.quotes()).toBe(2 + 4);
    expect(funds).toEqual([{ currency: 'USD', amount: 6000n, fees: 750n, isEstimate: true }]);
  });

  test('because it was asked too often is asked for again once the time that it names is over', async () => {
    const { onQuote } = scripted;
    const times: number[] = [];
    scripted.onQuote = (request, answering) => {
      times.push(Date.now());
      if (times.length > 1) void onQuote(request, answering);
      else scripted.reply(answering, { status: 429, json: {}, headers: { 'retry-after': '1' } });
    };
    const { quoting } = await preview(payoutFile([['INV-1', '10.00']]));
    expect(quoting.quoted).toHaveLength(1);
    expect(times).toHaveLength(2);
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(990);
  });
});

describe('a preview', () => {
  test('of a file with problems is one of its valid rows', async () => {
    const found = await preview(THREE.replace('20.00', 'many'));
    expect(found.checked).toMatchObject({ rows: 3, valid: 2, problemsTotal: 1 });
    expect(found.funds).toEqual([{ currency: 'USD', amount: 4000n, fees: 500n, isEstimate: false }]);
  });

  test('of a file that is refused as a whole asks the service nothing', async () => {
    const found = await preview(THREE.replace('amount', 'sum'));
    expect(found).toMatchObject({ corridors: [], funds: [], arriving: [], time: null });
    expect(found.checked.fileRefused).toBe(true);
    expect(scripted.server.requests).toHaveLength(0);
  });

  test('ends when it is interrupted, though the service does not answer', async () => {
    const stop = new AbortController();
    const hanging: Answering[] = [];
    scripted.onQuote = (_request, answering) => {
      if (stop.signal.aborted) answering.close();
      else hanging.push(answering);
      stop.abort();
    };
    const found = await preview(THREE, { signal: stop.signal });
    for (const answering of hanging) answering.close();
    expect(found.quoting).toMatchObject({ quoted: [], unasked: 3, ended: { code: 'E_INTERRUPTED' } });
  });

  test('ends when its time is over, and says of how many rows it heard nothing', async () => {
    answerFor(20, 429, {});
    const found = await preview(THREE, { timeMsMax: 500 });
    expect(found.quoting.ended).toMatchObject({ code: 'E_TIME' });
    expect(found.quoting.unasked).toBeGreaterThanOrEqual(1);
    expect(found.quoting.quoted.length + found.quoting.unasked).toBe(3);
  });

  test('of every row of a file with more of them than it may ask for is refused', async () => {
    const refused = preview(manyRows(20_001), { sample: 'all' });
    await expect(refused).rejects.toMatchObject({ name: 'Refusal', kind: 'usage' });
    expect(scripted.server.requests).toHaveLength(0);
  });
});

async function onSandbox(options: Partial<SandboxOptions> = {}): Promise<{ deps: PreviewDeps; book: () => unknown }> {
  const sandbox = await openSandbox(options);
  const credential = await sandbox.createCredential('preview', 'test');
  const settings = {
    ...credential,
    tenantId: sandbox.tenantId,
    audience: `urn:servicexcurrent-test:${sandbox.tenantId}`,
  };
  return { deps: depsOn(sandbox.url('test'), settings), book: () => sandbox.book('test') };
}

/** How far two amounts are apart, in minor units. */
function gap(one: bigint | undefined, other: bigint | undefined): number {
  return Math.abs(Number((one ?? 0n) - (other ?? 0n)));
}

describe('a preview of a larger file', () => {
  test('quotes a sample, and comes within a rounding a row of what all quotes say', async () => {
    const { deps, book } = await onSandbox();
    const text = manyRows(1500);
    const sampled = await preview(text, { deps });
    const full = await preview(text, { deps, sample: 'all' });
    expect(sampled.sample).toBe(20);
    expect(sampled.quoting.quoted.length).toBeLessThanOrEqual(22);
    expect(full.quoting.quoted).toHaveLength(1500);
    expect(sampled.funds).toMatchObject([{ amount: full.funds[0]?.amount, isEstimate: true }]);
    expect(full.funds).toMatchObject([{ isEstimate: false }]);
    expect(gap(sampled.funds[0]?.fees, full.funds[0]?.fees)).toBeLessThan(750);
    expect(gap(sampled.arriving[0]?.amount, full.arriving[0]?.amount)).toBeLessThan(750);
    expect(book()).toEqual([]);
  });
});

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { NO_WEB_SETTINGS } from '../../src/config/web.ts';
import { checkPayoutFile } from '../../src/intake/check-file.ts';
import { DEFAULT_LIMITS } from '../../src/intake/limits.ts';
import { writeMarkedUpCopy } from '../../src/intake/problems/marked-up.ts';
import { problemOf } from '../../src/intake/problems/problems.ts';
import { REQUIRED_COLUMNS } from '../../src/intake/template/columns.ts';
import type { PayoutRow } from '../../src/payout.ts';
import { openPasswords } from '../../src/people/password.ts';
import { submitRun } from '../../src/runs/hand-in/submit.ts';
import { LABELS } from '../../src/web/parts/read-form.ts';
import { openWeb } from '../../src/web/server.ts';
import { handInUpload, resumeUploads } from '../../src/web/uploads/hand-in.ts';
import { readReview, reviewUpload } from '../../src/web/uploads/review.ts';
import { removeOldUploads, shownFileName, stageUpload } from '../../src/web/uploads/staging.ts';
import {
  listUploads,
  makeUploadFolder,
  NO_OPTIONS,
  readUpload,
  saveUpload,
  type UploadDeps,
  type UploadPlace,
} from '../../src/web/uploads/upload.ts';
import { useTestRedis } from '../support/redis.ts';
import { openWebRig, type Visitor } from './rig.ts';

const BENEFICIARY = '7d9f1c1e-5f0a-4c56-9f5e-2b1d3c4a5e6f';
const HEADER = 'reference,beneficiaryIdentityId,amount,sourceCurrency,destinationCurrency';
const SECONDS = 1000;
const HOUR_MS = 3_600_000;

const server = await useTestRedis();

/** A folder that is gone after the test. */
function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'payrun-uploads-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The settings of a configuration file. */
function configured(settings: object): Record<string, string> {
  const path = join(freshFolder(), 'config.json');
  writeFileSync(path, JSON.stringify(settings));
  return { PAYRUN_CONFIG: path };
}

/** A sound payout file with so many rows, each to another beneficiary. */
function payoutFile(rows = 2, amount = '12.50'): string {
  const lines = Array.from(
    { length: rows },
    (_, at) => `INV-${at + 1},${BENEFICIARY.slice(0, -4)}${1000 + at},${amount},USD,MXN`,
  );
  return `${[HEADER, ...lines].join('\n')}\n`;
}

const WITH_MISTAKES = `${HEADER}\nINV-1,${BENEFICIARY},12.50,USD,MXN\n<b>x</b>,${BENEFICIARY},twelve,USD,MXN\n`;

/** A form as the page sends it; the token is added by the visitor. */
function formOf(content: string, { name = 'payouts.csv', ...fields }: Record<string, string> = {}): FormData {
  const form = new FormData();
  form.set('file', new Blob([content]), name);
  for (const [field, value] of Object.entries(fields)) form.set(field, value);
  return form;
}

/** Uploads a file; gives the address of its review. */
async function upload(person: Visitor, form: FormData): Promise<string> {
  const answer = await person.upload('/upload', form);
  expect(answer.text).toBe('');
  expect(answer.status).toBe(303);
  return answer.headers.get('location') ?? '';
}

const idOf = (address: string): string => address.split('/').at(-1) ?? '';

/** Everything that lies among the uploads of an app. */
function onDisk({ config }: UploadPlace): string[] {
  const folder = join(config.dataDir, 'uploads');
  return existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : [];
}

describe('an uploaded file', () => {
  test('with mistakes shows each of them, as text, and comes back marked up as the command marks it', async () => {
    const { person, app } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    const address = await upload(anna, formOf(WITH_MISTAKES, { name: '<img src=x>.csv' }));
    const page = await anna.get(address);
    expect(page.status).toBe(200);
    expect(page.text).toContain('Of its rows 1 is refused.');
    expect(page.text).toContain('E_AMOUNT');
    expect(page.text).toContain('&lt;b>x&lt;/b>');
    expect(page.text).toContain('&lt;img src=x>.csv');
    expect(page.text).not.toMatch(/<b>x|<img|Hand in</);

    const csv = await anna.get(`${address}/problems.csv`);
    expect(csv.headers.get('content-disposition')).toBe('attachment; filename="_img_src_x_.problems.csv"');
    expect(csv.text).toMatch(/^code,line,column,value,message,remedy\r\nE_REFERENCE,3,reference,<b>x<\/b>,/);

    const folder = freshFolder();
    const own = join(folder, 'own.csv');
    writeFileSync(own, WITH_MISTAKES);
    await writeMarkedUpCopy(own, await checkPayoutFile(own), join(folder, 'marked-up.csv'));
    const markedUp = await anna.get(`${address}/marked-up.csv`);
    expect(`\uFEFF${markedUp.text.replace(/^\uFEFF/, '')}`).toBe(readFileSync(join(folder, 'marked-up.csv'), 'utf8'));
    expect((await anna.post(`${address}/hand-in`)).status).toBe(409);
    expect(await app.ledger.runs.list()).toEqual([]);
  });

  test('has its problems as CSV in which no cell is run as a formula', async () => {
    const { person } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    const address = await upload(anna, formOf(`${HEADER}\n=1+1,${BENEFICIARY},12.50,USD,MXN\n`));
    expect((await anna.get(`${address}/problems.csv`)).text).toContain(`\r\nE_FORMULA,2,reference,'=1+1,`);
  });

  test('that is sound becomes one run, however often it is handed in, and the command line attaches to that run', async () => {
    const { person, app } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    const address = await upload(anna, formOf(payoutFile()));
    const page = await anna.get(address);
    expect(page.text).toContain('The file is sound and can be handed in.');
    expect(page.text).toMatch(/<th scope="row">USD<\/th><td[^>]*>25.00<\/td><td[^>]*>25.00<\/td>/);
    expect(page.text).toContain('nobody has to approve it');

    const answers = await Promise.all([1, 2].map(() => anna.post(`${address}/hand-in`)));
    const again = await anna.post(`${address}/hand-in`);
    const [run, ...others] = await app.ledger.runs.list();
    expect(others).toEqual([]);
    expect([...answers, again].map(({ status }) => status)).toEqual([303, 303, 303]);
    for (const { headers } of [...answers, again]) expect(headers.get('location')).toBe(`/runs/${run}`);
    expect((await anna.get(address)).headers.get('location')).toBe(`/runs/${run}`);
    expect(await app.ledger.runs.read(run ?? '')).toMatchObject({
      state: 'paying',
      rows: 2,
      createdBy: 'anna',
      fileName: 'payouts.csv',
    });

    const own = join(app.dir, 'the same.csv');
    writeFileSync(own, payoutFile());
    const submitted = await submitRun(app, { path: own, actor: 'shell', skipInvalid: false });
    expect(submitted).toMatchObject({ kind: 'submitted', isNew: false, run: { id: run } });
    // The ledger has all of it: nothing of the file stays behind.
    expect(onDisk(app).filter((name) => name.includes('/'))).toEqual([`${idOf(address)}/upload.json`]);
  });

  test('whoever approves its run is told what leaves with fees, and nothing of what the review was told is kept', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'payrun-fees-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const config = join(folder, 'payrun.json');
    writeFileSync(config, JSON.stringify({ approval: { mode: 'on' } }));
    const { person, app } = await openWebRig(server.url, { env: { PAYRUN_CONFIG: config } });
    const [anna, carl] = [await person('anna', 'maker'), await person('carl', 'checker')];
    const address = await upload(anna, formOf(payoutFile()));
    await anna.post(`${address}/cost`);
    await expect.poll(async () => (await anna.get(address)).text).toMatch(/By 2 of 2 quotes/);
    const run = (await anna.post(`${address}/hand-in`)).headers.get('location') ?? '';
    expect((await carl.get(`${run}/approve`)).text).toMatch(
      /with fees of (?:(?!<\/p>).)*, in 2 rows, by quotes of <time /,
    );
    expect(onDisk(app).filter((name) => name.includes('/'))).toEqual([`${idOf(address)}/upload.json`]);
  });

  test('has the balance beside what it needs on its review and where its run is approved, if that may be asked for', async () => {
    const env = { ...configured({ approval: { mode: 'on' } }), PAYRUN_BALANCES: 'on' };
    const { person } = await openWebRig(server.url, { env });
    const [anna, carl] = [await person('anna', 'maker'), await person('carl', 'checker')];
    const address = await upload(anna, formOf(payoutFile(2, '900000.00')));
    await anna.post(`${address}/cost`);
    const line = /<p class="problem">needs USD 1,80[0-9,.]+; balance USD 1,000,000\.00: short by 80[0-9,.]+<\/p>/;
    await expect.poll(async () => (await anna.get(address)).text).toMatch(line);
    const run = (await anna.post(`${address}/hand-in`)).headers.get('location') ?? '';
    await expect.poll(async () => (await carl.get(`${run}/approve`)).text).toMatch(line);
  });

  test('whose content is a run already says which, and is not recorded again', async () => {
    const { person, app } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    const first = await upload(anna, formOf(payoutFile()));
    await anna.post(`${first}/hand-in`);
    const second = await upload(anna, formOf(payoutFile()));
    const answer = await anna.post(`${second}/hand-in`);
    expect(answer.headers.get('location')).toBe(second);
    const [run, ...others] = await app.ledger.runs.list();
    expect(others).toEqual([]);
    expect((await anna.get(second)).text).toContain(`is run <a href="/runs/${run}">${run}</a> already`);
  });

  test('lets its valid rows go when that was asked for', async () => {
    const { person, app } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    const address = await upload(anna, formOf(WITH_MISTAKES, { skipInvalid: 'yes' }));
    expect((await anna.get(address)).text).toContain('The valid rows can be handed in; 1 is refused.');
    await anna.post(`${address}/hand-in`);
    const [run = ''] = await app.ledger.runs.list();
    expect((await app.ledger.runs.read(run))?.counts).toMatchObject({ ready: 1, refused: 1 });
  });

  test('is sound only where all of it will be paid; what will be held is told before, with how many rows and which', async () => {
    const { person, app } = await openWebRig(server.url, {
      env: configured({ limits: { currencies: { USD: { payout: '100.00' } } } }),
    });
    const anna = await person('anna', 'maker');
    await anna.post(`${await upload(anna, formOf(payoutFile(1)))}/hand-in`);
    const [run = ''] = await app.ledger.runs.list();
    const rows = ['inv-1', 'INV-8', 'INV-9'].map((reference, at) => `${reference},${BENEFICIARY},${at}10.00,USD,MXN`);
    const address = await upload(
      anna,
      formOf(`${[HEADER, ...rows.slice(1), rows[0]?.replace('010.00', '7.00')].join('\n')}\n`),
    );
    const { text } = await anna.get(address);
    expect(text).not.toContain('The file is sound');
    expect(text).toContain('No row will be paid by itself. 3 will be held.');
    expect(text).toContain('it would pass the limit of 100.00 USD for a payout');
    expect(text).toContain(`line 4, inv-1: see <a href="/runs/${run}/payouts/2">${run}-2</a>`);
    const csv = (await anna.get(`${address}/not-paid.csv`)).text;
    expect(csv).toMatch(/^line,reference,.*\r\n/);
    expect(csv).toContain(`4,inv-1,${BENEFICIARY},7.00,USD,held,E_DUP_HISTORY,the reference was used before,${run}-2`);
  });

  test('is not called sound where only a quote tells whether a limit stands against a row', async () => {
    const { person } = await openWebRig(server.url, {
      env: configured({ limits: { currencies: { USD: { run: '15.00' } } } }),
    });
    const anna = await person('anna', 'maker');
    const address = await upload(
      anna,
      formOf(`${HEADER},amountType\nQ-1,${BENEFICIARY},10.00,USD,MXN,DESTINATION_AMOUNT\n`),
    );
    const { text } = await anna.get(address);
    expect(text).not.toContain('The file is sound');
    expect(text).toContain('Of 1 of them only a quote tells whether a limit stands against it.');
  });

  test('tells of each cut-off which rows it concerns, and whether there is enough time', async () => {
    const always = { zone: 'UTC', opens: '00:00', cutOff: '23:59', weekend: [], holidays: [] };
    const today = new Date().toISOString().slice(0, 10);
    const { person } = await openWebRig(server.url, {
      env: configured({ calendars: { USD: { ...always, holidays: [today] }, MXN: always } }),
    });
    const anna = await person('anna', 'maker');
    const { text } = await anna.get(await upload(anna, formOf(payoutFile())));
    expect(text).toMatch(/MXN: enough time before the cut-off at 23:59 \(UTC\): 2 rows, line 2 /);
    expect(text).toMatch(new RegExp(`USD: ${today} is a holiday \\(UTC\\): 2 rows, line 2 `));
  });

  test('whose content is a run already says so before it is handed in, and shows no button for it', async () => {
    const { person, app } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    await anna.post(`${await upload(anna, formOf(payoutFile()))}/hand-in`);
    const [run = ''] = await app.ledger.runs.list();
    const { text } = await anna.get(await upload(anna, formOf(payoutFile())));
    expect(text).toContain(`The content of this file is run <a href="/runs/${run}">${run}</a> already`);
    expect(text).not.toContain('>Hand in');
  });

  test('with mistakes hands its valid rows in by one button, without a second upload', async () => {
    const { person, app } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    const address = await upload(anna, formOf(WITH_MISTAKES));
    expect((await anna.get(address)).text).toContain('Hand in the 1 valid row<');
    expect((await anna.post(`${address}/hand-in`)).status).toBe(409);
    const answer = await anna.post(`${address}/hand-in`, { skipInvalid: 'yes' });
    const [run = ''] = await app.ledger.runs.list();
    expect(answer.headers.get('location')).toBe(`/runs/${run}`);
    expect((await app.ledger.runs.read(run))?.counts).toMatchObject({ ready: 1, refused: 1 });
  });

  test('of which no row is valid has no such button, and its form is refused', async () => {
    const { person } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    const address = await upload(anna, formOf(`${HEADER}\nA,${BENEFICIARY},twelve,USD,MXN\n`));
    expect((await anna.get(address)).text).not.toContain('Hand in the');
    expect((await anna.post(`${address}/hand-in`, { skipInvalid: 'yes' })).status).toBe(409);
  });

  test('shows equal problems together, each with its true number, before the facts of the file', async () => {
    const { person } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    const rows = Array.from({ length: 1500 }, (_, at) => `R-${at},${BENEFICIARY},${at + 1}.00,usd,MXN`);
    const address = await upload(anna, formOf(`${[HEADER, ...rows, `R-X,${BENEFICIARY},1.00,USD,mxn`].join('\n')}\n`));
    const { text } = await anna.get(address);
    expect(text).toMatch(/>1,500<\/td><td data-label="Column">sourceCurrency<\/td>/);
    expect(text).toMatch(/>1<\/td><td data-label="Column">destinationCurrency<\/td>/);
    expect(text.indexOf('1,500')).toBeLessThan(text.indexOf('SHA-256'));
    expect(text.match(/<tr/g)?.length).toBeLessThan(60);
  });

  test('shows its first and its largest rows', async () => {
    const { person } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    const rows = Array.from({ length: 9 }, (_, at) => `R-${at},${BENEFICIARY},${at + 1}.00,USD,MXN`);
    const { text } = await anna.get(await upload(anna, formOf(`${[HEADER, ...rows].join('\n')}\n`)));
    const [, first = '', largest = ''] = text.split('<caption>The ').slice(-3);
    expect([...`${first}${largest}`.matchAll(/R-[0-9]/g)].map(([reference]) => reference)).toEqual(
      ['0', '1', '2', '3', '4', '8', '7', '6', '5', '4'].map((at) => `R-${at}`),
    );
  });

  test('is compared with what it should hold', async () => {
    const { person } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    const fits = await upload(anna, formOf(payoutFile(), { expectRows: '2', expectTotals: 'USD 25.00\r\n' }));
    expect((await anna.get(fits)).text).toContain('can be handed in');
    const differs = await upload(anna, formOf(payoutFile(), { expectTotals: 'USD 26.00' }));
    expect((await anna.get(differs)).text).toContain('25.00 USD where 26.00 USD was expected');
    const nonsense = await anna.upload('/upload', formOf(payoutFile(), { expectTotals: 'twenty' }));
    expect(nonsense.status).toBe(422);
    expect(nonsense.text).toContain('Write one total in each line');
  });

  test('is compared with totals that have their thousands apart, as pages show them', async () => {
    const { person } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    const large = `${HEADER}\nA,${BENEFICIARY},1250.00,USD,MXN\n`;
    const fits = await upload(anna, formOf(large, { expectTotals: 'USD 1,250.00' }));
    expect((await anna.get(fits)).text).toContain('can be handed in');
    const differs = await upload(anna, formOf(large, { expectTotals: 'USD 1,251.00' }));
    expect((await anna.get(differs)).text).toContain('where 1251.00 USD was expected');
    expect((await anna.upload('/upload', formOf(large, { expectTotals: 'USD 1,25.00' }))).status).toBe(422);
  });

  test('that is refused says nothing of its approval, and counts one problem as one', async () => {
    const { person } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    const { text } = await anna.get(await upload(anna, formOf(`${HEADER}\nA,${BENEFICIARY},twelve,USD,MXN\n`)));
    expect(text).not.toContain('to approve it');
    expect(text).toContain('1 problem.');
  });

  test('that the service speaks against has no marked-up copy, which would look sound', async () => {
    const { app } = await openWebRig(server.url);
    const found = problemOf('E_BENEFICIARY', { line: 2, facts: { found: 'is that of an originator' } });
    const deps = {
      ...app,
      settings: NO_WEB_SETTINGS,
      identities: {
        check: async () => ({
          problems: [found],
          problemsTotal: 1,
          problemGroups: [],
          refused: 1,
          warnings: [],
          acceptedHash: null,
        }),
        judge: (row: PayoutRow) => row,
      },
    };
    const bytes = Readable.from([Buffer.from(payoutFile())]);
    const staged = await stageUpload(deps, { bytes, name: 'payouts.csv', person: 'anna' });
    const reviewed = await reviewUpload(deps, staged, NO_OPTIONS);
    expect(await readReview(app, reviewed)).toMatchObject({ isPayable: false, valid: 1, hasMarkedUpCopy: false });
    await expect(handInUpload(deps, reviewed)).rejects.toMatchObject({ status: 409 });
  });

  test('that is refused when it is handed in is reviewed anew', async () => {
    const { app, person } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    const address = await upload(anna, formOf(payoutFile()));
    writeFileSync(join(app.config.dataDir, 'uploads', idOf(address), 'file'), payoutFile(3));
    await anna.post(`${address}/hand-in`);
    const page = await anna.get(address);
    expect(page.text).toContain('The file was refused when it was handed in');
    expect(page.text).toContain('E_CHECKSUM');
    expect(await app.ledger.runs.list()).toEqual([]);
  });

  test('is read by a template of the folder, as it was when the file came', async () => {
    const folder = freshFolder();
    const template = join(folder, 'semicolon.json');
    writeFileSync(template, JSON.stringify({ name: 'semicolon', description: 'exports', delimiter: ';' }));
    const { person, app } = await openWebRig(server.url, { settings: { templates: folder } });
    const anna = await person('anna', 'maker');
    expect((await anna.get('/upload')).text).toContain('<option value="semicolon.json">semicolon: exports</option>');
    const content = payoutFile().replaceAll(',', ';');
    const address = await upload(anna, formOf(content, { template: 'semicolon.json' }));
    writeFileSync(template, '{}');
    await anna.post(`${address}/hand-in`);
    const [run = ''] = await app.ledger.runs.list();
    expect(await app.ledger.runs.read(run)).toMatchObject({ rows: 2, state: 'paying' });
    for (const other of ['../../../etc/passwd', 'other.json']) {
      expect((await anna.upload('/upload', formOf(content, { template: other }))).status).toBe(422);
    }
  });

  test('starts when it was told to', async () => {
    const { person, app } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    const tomorrow = new Date(systemClock.now() + 86_400_000).toISOString().slice(0, 16);
    const address = await upload(anna, formOf(payoutFile(), { start: 'at', at: tomorrow, zone: 'UTC' }));
    await anna.post(`${address}/hand-in`);
    const [run = ''] = await app.ledger.runs.list();
    expect(await app.ledger.runs.read(run)).toMatchObject({ state: 'paused', startAt: Date.parse(`${tomorrow}Z`) });
    const past = await anna.upload(
      '/upload',
      formOf(payoutFile(), { start: 'at', at: '2020-01-01T06:30', zone: 'UTC' }),
    );
    expect(past.status).toBe(422);
    expect(past.text).toContain('The start time 2020-01-01T06:30 has passed.');
  });

  test.each(['now', 'schedule'])(
    'is refused with a start time when it is to start %s, and waits nowhere',
    async (start) => {
      const { person, app } = await openWebRig(server.url);
      const anna = await person('anna', 'maker');
      const { status, text } = await anna.upload('/upload', formOf(payoutFile(), { start, at: '2099-01-01T06:30' }));
      expect(status).toBe(422);
      expect(text).toContain('A &quot;Start time&quot; is given');
      expect(onDisk(app)).toEqual([]);
    },
  );

  test('tells by itself what it will cost, and again when somebody asks; nothing is recorded for it', {
    timeout: 180 * SECONDS,
  }, async () => {
    const { person, app } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    const address = await upload(anna, formOf(payoutFile()));
    await expect.poll(async () => (await anna.get(address)).text).toMatch(/By 2 of 2 quotes/);
    const asked = await anna.post(`${address}/cost`);
    expect(asked.headers.get('location')).toBe(`${address}#cost`);
    const { text } = await anna.get(address);
    expect(text).toMatch(/By 2 of 2 quotes.* from the sandbox: rates and fees are simulated/);
    expect(text).toMatch(/<th scope="row">USD<\/th><td[^>]*>25.00<\/td><td[^>]*>[0-9.]+<\/td><td[^>]*>[0-9.]+<\/td>/);
    expect(text).toContain('It takes about');
    expect(await app.ledger.runs.list()).toEqual([]);
  });

  test('may be the example that the upload page gives, which has each column that the page names', async () => {
    const { person } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    const { text: page } = await anna.get('/upload');
    expect(page).toContain('href="/upload/example.csv"');
    const { text: example } = await anna.get('/upload/example.csv');
    for (const column of REQUIRED_COLUMNS) {
      expect(page).toContain(`<code>${column}</code>`);
      expect(example.split('\r\n')[0]?.split(',')).toContain(column);
    }
    const address = await upload(anna, formOf(example));
    expect((await anna.get(address)).text).toContain('The file is sound and can be handed in.');
  });

  test('has each of its tables as CSV, with plain figures', async () => {
    const { person } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    const address = await upload(anna, formOf(payoutFile(2, '1250.00')));
    expect((await anna.get('/upload')).text).toContain('href="/uploads.csv"');
    expect((await anna.get('/uploads.csv')).text).toMatch(
      /^[^\r]+\r\n[^,]+,payouts\.csv,checked,,[^,]+,anna,[0-9]+\r\n$/,
    );
    await anna.post(`${address}/cost`);
    const { text } = await anna.get(address);
    for (const [table, content] of [
      ['totals', 'currency,inFile,validRows\r\nrows,2,2\r\nUSD,2500.00,2500.00\r\n'],
      ['funds', '\r\nUSD,2500.00,'],
      ['corridors', ',2,2500.00,USD,'],
    ] as const) {
      expect(text).toContain(`href="${address}/${table}.csv"`);
      expect((await anna.get(`${address}/${table}.csv`)).text).toContain(content);
    }
  });

  test('whose form is wrong names each field as its page does, on that page', async () => {
    const { person, base } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    const { text: page } = await anna.get('/upload');
    const names = [...page.matchAll(/ name="([A-Za-z]+)"/g)].map(([, name = '']) => name);
    const labelled = names.filter((name) => !['csrf', 'file', 'viewport'].includes(name));
    expect(labelled).toEqual(expect.arrayContaining(['expectRows', 'at', 'zone']));
    for (const name of labelled) expect(page).toContain(`>${LABELS.get(name)}</label>`);
    const { status, text } = await anna.upload('/upload', formOf(payoutFile(), { expectRows: 'many' }));
    expect(status).toBe(422);
    expect(text).toContain('<h1>Upload</h1>');
    expect(text).toContain('Choose the file again');
    expect(text).toContain('The field &quot;Expected rows&quot; must be a number of rows');
    const own = { origin: base, 'sec-fetch-site': 'same-origin' };
    const answer = (referer: string) => anna.post('/uploads/none/discard', {}, { ...own, referer });
    expect((await answer(`${base}/upload`)).text).toContain('<a href="/upload">Back to the form</a>');
    for (const elsewhere of ['https://evil.example/upload', `${base}//evil.example/`]) {
      expect((await answer(elsewhere)).text).not.toContain('evil.example');
    }
    expect((await anna.get('/runs?page=x')).text).toContain('<h1>Not understood</h1>');
  });

  test('can be discarded', async () => {
    const { person, app } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    const address = await upload(anna, formOf(payoutFile()));
    expect((await anna.post(`${address}/discard`)).headers.get('location')).toBe('/upload');
    expect(onDisk(app)).toEqual([]);
    expect((await anna.get(address)).status).toBe(404);
  });

  test('lies in a folder for its owner only, under names of ours', async () => {
    const { person, app } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    const names = ['../../../../tmp/evil.csv', '..\\..\\evil.csv', '/etc/passwd.csv', 'a\u202Egpj.csv'];
    for (const name of names) await upload(anna, formOf(payoutFile(), { name }));
    const folder = join(app.config.dataDir, 'uploads');
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    for (const path of onDisk(app)) {
      expect(path).toMatch(/^[0-9a-f-]{36}(?:\/(?:upload\.json|file|review\.json|foreseen\.json|cost\.json))?$/);
      expect(statSync(join(folder, path)).mode & 0o777).toBe(path.includes('/') ? 0o600 : 0o700);
    }
    const shown = (await listUploads(app)).map(({ name }) => name).toSorted();
    expect(shown).toEqual(['agpj.csv', 'evil.csv', 'evil.csv', 'passwd.csv']);
  });
});

describe('nobody else', () => {
  test('sees an upload or does anything with it; an admin sees and discards it, and does not hand it in', async () => {
    const { person, app } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    const address = await upload(anna, formOf(WITH_MISTAKES, { skipInvalid: 'yes', name: 'secret.csv' }));
    const bert = await person('bert', 'maker');
    for (const path of [address, `${address}/problems.csv`, `${address}/marked-up.csv`]) {
      expect((await bert.get(path)).status).toBe(404);
    }
    await bert.get('/upload');
    for (const act of ['hand-in', 'cost', 'discard']) {
      expect((await bert.post(`${address}/${act}`)).status).toBe(404);
    }
    const list = await bert.get('/upload');
    expect(list.text).toContain('No uploaded file waits.');
    expect(list.text).not.toContain('secret.csv');
    expect((await anna.get('/upload')).text).toContain(`<a href="${address}">secret.csv</a>`);
    const root = await person('carl', 'admin');
    expect((await root.get(address)).text).not.toContain('>Hand in<');
    expect((await root.post(`${address}/hand-in`)).status).toBe(403);
    expect(await app.ledger.runs.list()).toEqual([]);
    expect((await root.post(`${address}/discard`)).status).toBe(303);
  });

  test('uploads anything in the name of somebody whose browser was sent here from elsewhere', async () => {
    const { person, app, base } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    const cookie = [...anna.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const send = async (form: FormData, headers: Record<string, string>): Promise<number> =>
      (await fetch(`${base}/upload`, { method: 'POST', body: form, headers: { cookie, ...headers } })).status;
    const own = { origin: base, 'sec-fetch-site': 'same-origin' };
    const withToken = (token: string): FormData => {
      const form = new FormData();
      form.set('csrf', token);
      form.set('file', new Blob([payoutFile()]), 'payouts.csv');
      return form;
    };
    const late = formOf(payoutFile());
    late.set('csrf', anna.csrf());
    expect(await send(formOf(payoutFile()), own)).toBe(403);
    expect(await send(withToken('x'.repeat(anna.csrf().length)), own)).toBe(403);
    expect(await send(late, own)).toBe(403);
    expect(await send(withToken(anna.csrf()), { origin: 'https://evil.example' })).toBe(403);
    expect(await send(withToken(anna.csrf()), {})).toBe(403);
    expect(onDisk(app)).toEqual([]);
  });
});

/** A part of a form whose boundary is b. */
function part(headers: string, content: string): string {
  return `--b\r\nContent-Disposition: form-data; ${headers}\r\n\r\n${content}\r\n`;
}

describe('a form that is not ours leaves nothing on the disk', () => {
  const limits = { fileBytesMax: 10_000 };
  const openSmall = async () => {
    const rig = await openWebRig(server.url, { env: configured({ files: limits }) });
    return { ...rig, anna: await rig.person('anna', 'maker') };
  };

  test('with two files, an unknown field or file, a field twice, no file, or a thousand parts', async () => {
    const { anna, app } = await openSmall();
    const two = formOf(payoutFile());
    two.append('file', new Blob([payoutFile()]), 'more.csv');
    const twice = formOf(payoutFile(), { expectRows: '2' });
    twice.append('expectRows', '3');
    const many = formOf(payoutFile());
    for (let at = 0; at < 1000; at++) many.append(`part${at}`, '');
    const other = new FormData();
    other.set('other', new Blob([payoutFile()]), 'payouts.csv');
    const noName = new FormData();
    noName.set('template', '');
    const forms: [FormData, number][] = [
      [two, 400],
      [formOf(payoutFile(), { person: 'bert' }), 400],
      [formOf(payoutFile(), { __proto: 'x' }), 400],
      [other, 400],
      [twice, 400],
      [noName, 400],
      [many, 400],
      [formOf(payoutFile(), { zone: 'x'.repeat(20_000) }), 413],
    ];
    for (const [form, status] of forms) expect((await anna.upload('/upload', form)).status).toBe(status);
    expect(onDisk(app)).toEqual([]);
  });

  test('with more bytes than a file may have, whether it says so before or not', async () => {
    const { anna, app } = await openSmall();
    const large = await anna.upload('/upload', formOf(payoutFile(400)));
    expect(large.status).toBe(413);
    expect(large.text).toContain('The file has more than 10,000 bytes.');
    expect((await anna.upload('/upload', formOf('x'.repeat(1_000_000)))).status).toBe(413);
    expect(onDisk(app)).toEqual([]);
    await upload(anna, formOf(payoutFile()));
  });

  test('with odd boundaries, or in no parts at all', async () => {
    const { anna, app, base } = await openSmall();
    const cookie = [...anna.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const send = async (type: string, body: string): Promise<number> => {
      const headers = { cookie, origin: base, 'sec-fetch-site': 'same-origin', 'content-type': type };
      return (await fetch(`${base}/upload`, { method: 'POST', body, headers })).status;
    };
    const token = part('name="csrf"', anna.csrf());
    const file = part('name="file"; filename="a.csv"', payoutFile());
    expect(await send('multipart/form-data', `${token}${file}--b--\r\n`)).toBe(400);
    expect(await send('multipart/form-data; boundary=', `${token}${file}--b--\r\n`)).toBe(400);
    expect(await send('multipart/form-data; boundary=other', `${token}${file}--b--\r\n`)).toBe(400);
    // Cut off: the end of the form never comes.
    expect(await send('multipart/form-data; boundary=b', `${token}${file}`)).toBe(400);
    expect(await send('multipart/form-data; boundary=b', '')).toBe(400);
    expect(await send('text/plain', `${token}${file}--b--\r\n`)).toBe(415);
    expect(await send('application/x-www-form-urlencoded', `csrf=${anna.csrf()}&file=x`)).toBe(415);
    expect(onDisk(app)).toEqual([]);
  });

  test('that comes too slowly for the server, or whose sender goes away', { timeout: 180 * SECONDS }, async () => {
    const { anna, app, web, base } = await openSmall();
    web.server.timeout = 500;
    const { hostname, port, host } = new URL(base);
    const cookie = [...anna.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const begin = [
      `POST /upload HTTP/1.1\r\nHost: ${host}\r\nCookie: ${cookie}\r\nOrigin: ${base}\r\nSec-Fetch-Site: same-origin`,
      'Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 5000\r\n\r\n--b',
      `Content-Disposition: form-data; name="csrf"\r\n\r\n${anna.csrf()}\r\n--b`,
      `Content-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n${payoutFile()}`,
    ].join('\r\n');
    const slow = connect(Number.parseInt(port, 10), hostname);
    slow.on('error', () => {});
    slow.write(begin);
    await expect.poll(() => onDisk(app).length, { timeout: 60 * SECONDS }).toBeGreaterThan(0);
    await expect.poll(() => onDisk(app), { timeout: 60 * SECONDS }).toEqual([]);
    web.server.timeout = 0;
    const gone = connect(Number.parseInt(port, 10), hostname);
    gone.write(begin);
    await expect.poll(() => onDisk(app).length, { timeout: 60 * SECONDS }).toBeGreaterThan(0);
    gone.destroy();
    await expect.poll(() => onDisk(app), { timeout: 60 * SECONDS }).toEqual([]);
    slow.destroy();
  });
});

/** What staging needs, without a web app. */
function staging(dataDir: string, now = systemClock.now()): UploadDeps {
  return {
    config: { dataDir, files: { ...DEFAULT_LIMITS, fileBytesMax: 1000 } },
    settings: { uploadsMax: 20, templates: null },
    clock: { ...systemClock, now: () => now },
    random: systemRandom,
  };
}

const incoming = (bytes: number, person = 'anna') => ({
  bytes: Readable.from([Buffer.alloc(bytes, 'x')]),
  name: 'a.csv',
  person,
});

async function* cutOff(): AsyncGenerator<Buffer> {
  yield Buffer.from('refer');
  throw new Error('reset');
}

describe('files that wait', () => {
  test('are limited in number, also when they come side by side; another person is not concerned', async () => {
    const { person, app } = await openWebRig(server.url, { settings: { uploadsMax: 3 } });
    const anna = await person('anna', 'maker');
    const answers = await Promise.all(Array.from({ length: 8 }, () => anna.upload('/upload', formOf(payoutFile()))));
    expect((await listUploads(app)).length).toBeLessThanOrEqual(3);
    for (const { status, text } of answers) {
      if (status === 303) continue;
      expect(status).toBe(409);
      expect(text).toContain('Hand in or discard some of them');
    }
    const bert = await person('bert', 'maker');
    await upload(bert, formOf(payoutFile()));
  });

  test('are limited in bytes, and names of one person in other spellings are that person', async () => {
    const deps = staging(freshFolder());
    await stageUpload(deps, incoming(900));
    await stageUpload(deps, incoming(900, 'Anna '));
    await expect(stageUpload(deps, incoming(900))).rejects.toMatchObject({ status: 409 });
    await stageUpload(deps, incoming(900, 'bert'));
    expect(await listUploads(deps)).toHaveLength(3);
  });

  test('and are too many keep another one from being read at all', async () => {
    const deps = { ...staging(freshFolder()), settings: { uploadsMax: 1, templates: null } };
    await stageUpload(deps, incoming(10));
    const next = incoming(10);
    await expect(stageUpload(deps, next)).rejects.toMatchObject({ status: 409 });
    expect(next.bytes.readableDidRead).toBe(false);
  });

  test('are removed after a day, and sooner when nobody is receiving them any more', async () => {
    const dataDir = freshFolder();
    const deps = staging(dataDir);
    const staged = await stageUpload(deps, incoming(10));
    await removeOldUploads(deps);
    expect(await readUpload(deps, staged.id)).toEqual(staged);
    await removeOldUploads(staging(dataDir, staged.createdAt + 7 * HOUR_MS));
    expect(await listUploads(deps)).toEqual([]);
  });

  test('and became runs are remembered for each person up to 100, so that nobody makes the list of all of them long', async () => {
    const deps = staging(freshFolder());
    const { id: oldest } = await saveUpload(deps, { ...(await stageUpload(deps, incoming(1))), state: 'recorded' });
    for (let count = 1; count < 103; count++) {
      const createdAt = systemClock.now() + count;
      await saveUpload(deps, { ...(await stageUpload(deps, incoming(1))), createdAt, state: 'recorded' });
    }
    await stageUpload(deps, incoming(1, 'bert'));
    const waiting = await stageUpload(deps, incoming(1));
    const left = await listUploads(deps);
    expect(left.filter(({ person }) => person !== 'bert')).toHaveLength(101);
    expect(left.some(({ id }) => id === waiting.id)).toBe(true);
    expect(left.some(({ id }) => id === oldest)).toBe(false);
  });

  test('in folders that a process left before it said what they are, are removed with them', async () => {
    const deps = staging(freshFolder());
    await makeUploadFolder(deps, deps.random.uuid());
    await removeOldUploads(deps);
    expect(onDisk(deps)).toHaveLength(1);
    await removeOldUploads({ ...deps, clock: { ...deps.clock, now: () => systemClock.now() + 7 * HOUR_MS } });
    expect(onDisk(deps)).toEqual([]);
  });

  test('and were handed in are never removed before they are a run', async () => {
    const deps = staging(freshFolder());
    const staged = await saveUpload(deps, { ...(await stageUpload(deps, incoming(10))), state: 'handed-in' });
    await removeOldUploads({ ...deps, clock: { ...deps.clock, now: () => systemClock.now() + 100 * HOUR_MS } });
    expect(await readUpload(deps, staged.id)).toEqual(staged);
  });

  test('whose bytes end early leave nothing', async () => {
    const deps = staging(freshFolder());
    await expect(stageUpload(deps, { ...incoming(0), bytes: cutOff() })).rejects.toMatchObject({ status: 400 });
    expect(onDisk(deps)).toEqual([]);
  });
});

describe('a process that ends while it records', () => {
  test('is carried on by the next one, once', async () => {
    const { person, app } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    const address = await upload(anna, formOf(payoutFile(3)));
    const settings = NO_WEB_SETTINGS;
    const [staged] = await listUploads(app);
    if (staged === undefined) throw new Error('nothing was staged');
    const dying = {
      ...app,
      settings,
      at: () => {
        throw new Error('the process was killed');
      },
    };
    await expect(handInUpload(dying, staged)).rejects.toThrow('the process was killed');
    expect(await readUpload(app, staged.id)).toMatchObject({ state: 'handed-in' });
    expect((await anna.post(`${address}/discard`)).status).toBe(409);

    const next = await openWeb({ app, settings, passwords: openPasswords(app.random), hosts: new Set() });
    await next.listen({ host: '127.0.0.1', port: 0 });
    await expect.poll(() => readUpload(app, staged.id), { timeout: 60 * SECONDS }).toMatchObject({ state: 'recorded' });
    await next.close();
    await resumeUploads({ ...app, settings });
    const [run = '', ...others] = await app.ledger.runs.list();
    expect(others).toEqual([]);
    expect(await app.ledger.runs.read(run)).toMatchObject({ state: 'paying', rows: 3, createdBy: 'anna' });
    const { ready, held } = (await app.ledger.runs.read(run))?.counts ?? { ready: 0, held: 0 };
    expect(ready + held).toBe(3);
    expect((await anna.get(address)).headers.get('location')).toBe(`/runs/${run}`);
  });
});

test('of two clicks that record side by side, the one that finds the file gone shows the run of the other', async () => {
  const { person, app } = await openWebRig(server.url);
  const anna = await person('anna', 'maker');
  const address = await upload(anna, formOf(payoutFile()));
  const deps = { ...app, settings: NO_WEB_SETTINGS };
  const slow = {
    ...deps,
    async ensureSeason() {
      await handInUpload(deps, { id: idOf(address) });
      return [];
    },
  };
  const handedIn = await handInUpload(slow, { id: idOf(address) });
  const [run, ...others] = await app.ledger.runs.list();
  expect(others).toEqual([]);
  expect(handedIn).toMatchObject({ state: 'recorded', runId: run });
});

test.each([
  ['payouts.csv', 'payouts.csv'],
  ['C:\\Users\\anna\\payouts.csv', 'payouts.csv'],
  ['../../etc/passwd', 'passwd'],
  ['a\u0000b\u202E\r\nc.csv', 'abc.csv'],
  ['', 'payouts.csv'],
  ['..', 'payouts.csv'],
  ['folder/', 'payouts.csv'],
  [`${'ü'.repeat(300)}.xlsx`, `${'ü'.repeat(195)}.xlsx`],
])('a file called %j is shown as %j', (given, shown) => {
  expect(shownFileName(given)).toBe(shown);
});

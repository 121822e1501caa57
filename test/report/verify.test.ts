import { mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { signatureText } from '../../src/report/signature.ts';
import { makeSigningKey, openSigningKey, readPublicKeys } from '../../src/report/signing-key.ts';
import { type Verified, verifySigned } from '../../src/report/verify.ts';
import { payment, payout, type Row, RUN_ID, refused } from './rows.ts';
import { SIGNING_KEY, writeSigned } from './signed-reports.ts';

const ROWS: readonly Row[] = [payment(2, 'completed'), payout(3), refused(4), payment(5, 'failed')];
const LATER: readonly Row[] = [payment(2, 'returned'), payout(3), refused(4), payment(5, 'failed')];
const NAME = `${RUN_ID}.v1`;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'payrun-verify-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function verify(name = '', keys = [SIGNING_KEY]): Promise<Omit<Verified, 'signed'>> {
  const { signed: _signed, ...verdict } = await verifySigned(join(folder, name), keys);
  return verdict;
}

function change(name: string, from: string | RegExp, to: string): void {
  const path = join(folder, name);
  const before = readFileSync(path, 'utf8');
  const after = before.replace(from, to);
  expect(after).not.toBe(before);
  writeFileSync(path, after);
}

test('a signed report holds, for its folder and for each of its files', async () => {
  await writeSigned(folder, ROWS);
  expect(await verify()).toEqual({ proven: [`${NAME}.csv`, `${NAME}.json`], findings: [], notes: [] });
  expect(await verify(`${NAME}.csv`)).toEqual({ proven: [`${NAME}.csv`], findings: [], notes: [] });
  expect(await verify(`${NAME}.sig`)).toMatchObject({ proven: [`${NAME}.csv`, `${NAME}.json`], findings: [] });
});

test('a signature can be read by its owner alone', async () => {
  await writeSigned(folder, ROWS);
  expect(statSync(join(folder, `${NAME}.sig`)).mode & 0o777).toBe(0o600);
});

describe('one digit that was changed is found, and named', () => {
  beforeEach(async () => {
    await writeSigned(folder, ROWS);
  });

  test('in the CSV, by the JSON', async () => {
    change(`${NAME}.csv`, /(\r\n5,[^\r]*?,)100\.50/, '$1190.50');
    expect(await verify()).toMatchObject({
      proven: [`${NAME}.json`],
      findings: [
        `${NAME}.csv: it is not what was signed: line 5, column amount (line 5 of the payout file): 190.50 in the CSV, 100.50 in the JSON`,
      ],
    });
  });

  test('in the JSON, by the CSV', async () => {
    change(`${NAME}.json`, '"amount":"100.50"', '"amount":"100.51"');
    expect((await verify()).findings).toEqual([
      expect.stringMatching(/v1\.json: .*line 2, column amount .*: 100\.50 in the CSV, 100\.51 in the JSON$/),
    ]);
  });

  test('also in a report from before names had a column', async () => {
    const path = join(folder, `${NAME}.csv`);
    const former = readFileSync(path, 'utf8').replace(',beneficiaryName', '').replace(/,\r\n/g, '\r\n');
    writeFileSync(path, former.replace('100.50', '190.50'));
    expect((await verify()).findings).toEqual([expect.stringContaining('line 2, column amount')]);
  });

  test('in the last column', async () => {
    change(`${NAME}.csv`, /\r\n$/, '1\r\n');
    expect((await verify()).findings).toEqual([expect.stringContaining('line 5, column beneficiaryName')]);
  });

  test('and a total of the JSON, which the CSV does not have', async () => {
    change(`${NAME}.json`, '"file":"', '"file":"1');
    expect((await verify()).findings).toEqual([expect.stringContaining('it was changed somewhere else')]);
  });

  test('a row that was removed, and one that was added', async () => {
    const csv = readFileSync(join(folder, `${NAME}.csv`), 'utf8');
    change(`${NAME}.csv`, /\r\n5,[^\r]*\r\n$/, '\r\n');
    expect((await verify()).findings).toEqual([
      expect.stringContaining('line 5 of the JSON is a row that the CSV does not have'),
    ]);
    writeFileSync(join(folder, `${NAME}.csv`), `${csv}6,x\r\n`);
    expect((await verify()).findings).toEqual([
      expect.stringContaining('line 6 of the CSV is a row that the JSON does not have'),
    ]);
  });

  test('and without the other file, that it was changed', async () => {
    change(`${NAME}.csv`, '100.50', '190.50');
    rmSync(join(folder, `${NAME}.json`));
    expect((await verify()).findings).toEqual([
      `${NAME}.csv: it is not what was signed`,
      `${NAME}.json: it is not here, and its signature is`,
    ]);
  });
});

test.each([
  ['the head of the audit log', 'audit-head none', `audit-head 3:${'a'.repeat(64)}`],
  ['the payout file', /payout-file .{64}/, `payout-file ${'b'.repeat(64)}`],
  ['a hash', /\n[0-9a-f]{64} {2}/, `\n${'c'.repeat(64)}  `],
])('a signature file of which %s was changed is found', async (_what, from, to) => {
  await writeSigned(folder, ROWS);
  change(`${NAME}.sig`, from, to);
  expect(await verify()).toMatchObject({ proven: [], findings: [`${NAME}.sig: it was changed after it was signed`] });
});

test('any single character of a signature file that is another one is found', async () => {
  await writeSigned(folder, ROWS);
  const path = join(folder, `${NAME}.sig`);
  const text = readFileSync(path, 'utf8');
  for (let index = 0; index < text.length; index++) {
    const other = text[index] === 'A' ? 'B' : 'A';
    writeFileSync(path, text.slice(0, index) + other + text.slice(index + 1));
    expect((await verify()).findings, `character ${index}`).not.toEqual([]);
  }
});

test('a report without a signature is not proven, nor is one of an unknown key', async () => {
  await writeSigned(folder, ROWS, { key: openSigningKey(makeSigningKey()) });
  expect((await verify()).findings).toEqual([expect.stringContaining('none of those that were given')]);
  rmSync(join(folder, `${NAME}.sig`));
  expect(await verify()).toMatchObject({
    proven: [],
    findings: [expect.stringContaining(`${NAME}.csv: no signature`), expect.stringContaining(`${NAME}.json: no`)],
  });
});

test('after a change of the key both public keys prove what each signed', async () => {
  const former = openSigningKey(makeSigningKey());
  const first = await writeSigned(folder, ROWS, { key: former });
  await writeSigned(folder, LATER, { version: 2, previous: first });
  const keys = readPublicKeys(`${SIGNING_KEY.pem}\n${former.pem}`);
  expect(keys.map(({ id }) => id)).toEqual([SIGNING_KEY.id, former.id]);
  expect((await verifySigned(folder, keys)).findings).toEqual([]);
});

test('a report under the name of another version or run is found', async () => {
  await writeSigned(folder, ROWS);
  for (const ending of ['csv', 'json', 'sig']) {
    renameSync(join(folder, `${NAME}.${ending}`), join(folder, `${RUN_ID}.v2.${ending}`));
  }
  expect((await verify()).findings).toEqual([`${RUN_ID}.v2.sig: it was made for ${NAME}, and has another name now`]);
});

describe('versions', () => {
  test('hold as a chain, and who checks an older one is told of the newest', async () => {
    const first = await writeSigned(folder, ROWS);
    await writeSigned(folder, LATER, { version: 2, previous: first });
    expect(await verify()).toMatchObject({ findings: [], notes: [] });
    expect(await verify(`${NAME}.csv`)).toMatchObject({
      findings: [],
      notes: [`there is a newer version of this report: ${RUN_ID}.v2`],
    });
  });

  test('of which one was made anew are found, though each is signed', async () => {
    const first = await writeSigned(folder, ROWS);
    await writeSigned(folder, LATER, { version: 2, previous: { ...first, csv: 'd'.repeat(64) } });
    expect((await verify()).findings).toEqual([`${RUN_ID}.v2.sig: it follows another v1 than the one here`]);
  });

  test('of which one is missing are told', async () => {
    const first = await writeSigned(folder, ROWS);
    await writeSigned(folder, LATER, { version: 2, previous: first });
    for (const ending of ['csv', 'json', 'sig']) rmSync(join(folder, `${NAME}.${ending}`));
    expect(await verify()).toMatchObject({
      findings: [],
      notes: [`${NAME}, which v2 follows, is not here or not signed`],
    });
  });
});

test('a statement is text that people can read', () => {
  const files = [{ name: 'a.csv', sha256: 'e'.repeat(64) }];
  expect(signatureText({ facts: { of: 'report' }, files }, SIGNING_KEY).split('\n')).toEqual([
    'payrun signature 1',
    'of report',
    `key ${SIGNING_KEY.id}`,
    `${'e'.repeat(64)}  a.csv`,
    expect.stringMatching(/^signature [A-Za-z0-9+/]{86}==$/),
    '',
  ]);
});

test('what is no Ed25519 public key is none', () => {
  expect(readPublicKeys('')).toEqual([]);
  expect(readPublicKeys(SIGNING_KEY.pem.replace('MCow', 'MCox'))).toEqual([]);
});

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { readEntry } from '../../src/audit/entry.ts';
import type { CheckedFile } from '../../src/intake/check-file.ts';
import { readPayoutFile } from '../../src/intake/read-file.ts';
import { openContentHash } from '../../src/intake/row/row-hash.ts';
import type { PayoutRow, RefusedRow } from '../../src/payout.ts';
import { summariseRun } from '../../src/runs/after/report.ts';
import { type SubmitDeps, submitRun } from '../../src/runs/hand-in/submit.ts';
import type { IdentityBook } from '../../src/runs/identities.ts';
import { useTestRedis } from '../support/redis.ts';
import { openTestApp } from './opened-app.ts';

const HEADER = 'reference,beneficiaryIdentityId,amount,sourceCurrency,destinationCurrency';
const ANNA = '11111111-1111-4111-8111-111111111111';
const BOB = '22222222-2222-4222-8222-222222222222';
/** Lines 2 and 5 are good; 3 has no amount, 4 and 6 one reference. */
const FILE = [
  HEADER,
  `INV-2,${ANNA},1.00,USD,MXN`,
  `INV-3,${ANNA},one,USD,MXN`,
  `INV-4,${ANNA},3.00,USD,MXN`,
  `INV-5,${BOB},4.00,USD,MXN`,
  `INV-4,${ANNA},5.00,USD,MXN`,
  '',
].join('\n');

const server = await useTestRedis();
let app: App & { readonly dir: string };
let path: string;
beforeEach(async () => {
  app = await openTestApp(server.url);
  path = join(app.dir, 'payouts.csv');
  writeFileSync(path, FILE);
});
afterEach(async () => {
  await app.close();
});

async function submit(deps: SubmitDeps = app): Promise<string> {
  const submitted = await submitRun(deps, { path, actor: 'anna', skipInvalid: true });
  if (submitted.kind === 'refused') throw new Error('the file was refused');
  return submitted.run.id;
}

/** What the audit log says of the accepted rows, each time that the file was handed in. */
async function onRecord(): Promise<[string, string | undefined][]> {
  const told: [string, string | undefined][] = [];
  for await (const line of app.ledger.audit.lines()) {
    const { action = '', details } = readEntry(line) ?? {};
    if (/^run\.(submitted|attached)$/.test(action)) told.push([action, details?.['acceptedHash']]);
  }
  return told;
}

function refusedRow({ line, amount }: PayoutRow): RefusedRow {
  return { line, amount, cells: {}, code: 'E_BENEFICIARY', message: '' };
}

/** A list of identities that speaks against some of them. */
function bookAgainst(checkRefuses: readonly string[], judgeRefuses: readonly string[] = checkRefuses): IdentityBook {
  return {
    async check(file: string, checked: CheckedFile) {
      const accepted = openContentHash();
      let refused = 0;
      for await (const rows of readPayoutFile(file, checked)) {
        for (const row of rows) {
          if (!('reference' in row)) continue;
          if (checkRefuses.includes(row.beneficiaryIdentityId)) refused++;
          else accepted.addRow(row);
        }
      }
      return {
        problems: [],
        problemsTotal: refused,
        problemGroups: [],
        refused,
        warnings: [],
        acceptedHash: accepted.digest(),
      };
    },
    judge: (row) => (judgeRefuses.includes(row.beneficiaryIdentityId) ? refusedRow(row) : row),
  };
}

test('with rows that intake refused, those that were accepted are on record, and the report compares them', async () => {
  const { outcomes, hashes, ties } = await summariseRun(app, await submit());
  expect(outcomes).toMatchObject({ waiting: 2, refused: 3 });
  expect({ ties, rows: hashes.rows }).toEqual({ ties: true, rows: 'same' });
  expect(await onRecord()).toEqual([['run.submitted', hashes.rowsInLedger]]);
});

test('with rows that the service speaks against, too', async () => {
  const { outcomes, hashes } = await summariseRun(app, await submit({ ...app, identities: bookAgainst([BOB]) }));
  expect(outcomes).toMatchObject({ waiting: 1, refused: 4 });
  expect(hashes.rows).toBe('same');
  expect(await onRecord()).toEqual([['run.submitted', hashes.rowsInLedger]]);
});

test('a list that became another one while the file was recorded is put on record, and the report ties', async () => {
  const { hashes, ties } = await summariseRun(app, await submit({ ...app, identities: bookAgainst([], [BOB]) }));
  expect({ ties, rows: hashes.rows }).toEqual({ ties: true, rows: 'same' });
  expect(await onRecord()).toEqual([
    ['run.submitted', expect.not.stringMatching(hashes.rowsInLedger ?? '')],
    ['run.attached', hashes.rowsInLedger],
  ]);
});

function at(point: string): void {
  if (point === 'C16') throw new Error('killed');
}

test('a run ties whose rows the service refused in part before a kill, and no more after it', async () => {
  const rows = 4000;
  const line = (n: number): string => `INV-${n},${n === 1 || n === rows ? BOB : ANNA},${n}.00,USD,MXN`;
  writeFileSync(path, `${[HEADER, ...Array.from({ length: rows }, (_, index) => line(index + 1))].join('\n')}\n`);
  await expect(submit({ ...app, at, identities: bookAgainst([BOB]) })).rejects.toThrow('killed');
  const { outcomes, hashes, ties } = await summariseRun(app, await submit({ ...app, identities: bookAgainst([]) }));
  expect({ refused: outcomes.refused, rows: hashes.rows, ties }).toEqual({ refused: 1, rows: 'same', ties: true });
});

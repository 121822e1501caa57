import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import type { CheckedFile } from '../../src/intake/check-file.ts';
import { readPayoutFile } from '../../src/intake/read-file.ts';
import { openContentHash } from '../../src/intake/row/row-hash.ts';
import type { PayoutRow, RefusedRow } from '../../src/payout.ts';
import { summariseRun } from '../../src/runs/after/report.ts';
import { type SubmitDeps, submitRun } from '../../src/runs/hand-in/submit.ts';
import type { IdentityBook } from '../../src/runs/identities.ts';
import { useTestRedis } from '../support/redis.ts';
import { openTestApp } from './opened-app.ts';

const ANNA = '11111111-1111-4111-8111-111111111111';
const BOB = '22222222-2222-4222-8222-222222222222';
const ROWS = 4000;
const FILE = [
  'reference,beneficiaryIdentityId,amount,sourceCurrency,destinationCurrency',
  ...Array.from({ length: ROWS }, (_, n) => `INV-${n},${n === 0 || n === ROWS - 1 ? BOB : ANNA},1.00,USD,MXN`),
  '',
].join('\n');

const server = await useTestRedis();
let app: App & { readonly dir: string };
let path: string;
beforeEach(async () => {
  app = await openTestApp(server.url, { PAYRUN_DUPLICATES_WITHIN: 'off' });
  path = join(app.dir, 'payouts.csv');
  writeFileSync(path, FILE);
});
afterEach(async () => {
  await app.close();
});

function bookAgainst(refuses: readonly string[]): IdentityBook {
  return {
    async check(file: string, checked: CheckedFile) {
      const accepted = openContentHash();
      let refused = 0;
      for await (const rows of readPayoutFile(file, checked)) {
        for (const row of rows) {
          if (!('reference' in row)) continue;
          if (refuses.includes(row.beneficiaryIdentityId)) refused++;
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
    judge: (row: PayoutRow): PayoutRow | RefusedRow =>
      refuses.includes(row.beneficiaryIdentityId)
        ? { line: row.line, amount: row.amount, cells: {}, code: 'E_BENEFICIARY', message: '' }
        : row,
  };
}

const submit = (deps: SubmitDeps) => submitRun(deps, { path, actor: 'anna', skipInvalid: true });

function at(point: string): void {
  if (point === 'C16') throw new Error('killed');
}

test('a run ties whose rows the service refused in part before a kill, and no more after it', async () => {
  await expect(submit({ ...app, at, identities: bookAgainst([BOB]) })).rejects.toThrow('killed');
  const submitted = await submit({ ...app, identities: bookAgainst([]) });
  if (submitted.kind === 'refused') throw new Error('refused');
  const { outcomes, hashes, ties } = await summariseRun(app, submitted.run.id);
  expect({ refused: outcomes.refused, rows: hashes.rows, ties }).toEqual({ refused: 1, rows: 'same', ties: true });
});

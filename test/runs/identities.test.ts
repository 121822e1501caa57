import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { checkPayoutFile } from '../../src/intake/check-file.ts';
import { readPayoutFile } from '../../src/intake/read-file.ts';
import { silentLog } from '../../src/log.ts';
import { type IdentityBook, type IdentityFindings, openIdentityBook } from '../../src/runs/identities.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { openService, type Service } from '../../src/service/client.ts';

const ANNA = '11111111-1111-4111-8111-111111111111';
const BOB = '22222222-2222-4222-8222-222222222222';
const FIRM = '33333333-3333-4333-8333-333333333333';

let folder: string;
let sandbox: Sandbox;
let service: Service;
let asked: number;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'payrun-identities-'));
  sandbox = await startSandbox({ folder: join(folder, 'sandbox'), clock: systemClock, random: systemRandom });
  const credential = await sandbox.createCredential('test', 'test');
  const settings = {
    ...credential,
    url: sandbox.url('test'),
    tenantId: sandbox.tenantId,
    environment: 'test' as const,
    audience: `urn:servicexcurrent-test:${sandbox.tenantId}`,
  };
  service = openService({
    settings,
    tokenStore: null,
    tokenMarginMs: 1000,
    brake: { hold() {}, remainingMs: () => 0 },
    requestTimeoutMs: 5000,
    concurrency: 2,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    userAgent: 'test',
  });
  asked = 0;
});
afterEach(async () => {
  await service.close();
  await sandbox.close();
  rmSync(folder, { recursive: true, force: true });
});

async function listed(...identities: (readonly ['BENEFICIARY' | 'ORIGINATOR', string])[]): Promise<void> {
  await sandbox.registerIdentities(
    'test',
    identities.map(([identityType, identityId]) => ({ identityType, identityId })),
  );
}

function book(): IdentityBook {
  const lister = {
    async listIdentities(type: 'BENEFICIARY' | 'ORIGINATOR') {
      asked++;
      return await service.listIdentities(type);
    },
  };
  return openIdentityBook({ service: lister, clock: systemClock, log: silentLog });
}

/** Looks at a file of these rows: beneficiary, and originator where there is one. */
async function look(rows: readonly (readonly [string, string?])[], identities = book()) {
  const path = join(folder, 'payouts.csv');
  const lines = rows.map(([one, other = ''], index) => `INV-${index},${one},${other},10.00,USD,MXN`);
  const header = 'reference,beneficiaryIdentityId,originatorIdentityId,amount,sourceCurrency,destinationCurrency';
  writeFileSync(path, `${[header, ...lines].join('\n')}\n`);
  const checked = await checkPayoutFile(path);
  const findings = await identities.check(path, checked);
  const judged = [];
  for await (const batch of readPayoutFile(path, checked)) {
    for (const row of batch) judged.push('reference' in row && 'code' in identities.judge(row) ? 'refused' : 'payable');
  }
  return { ...told(findings), judged };
}

function told({ problems, refused, warnings }: IdentityFindings) {
  return {
    problems: problems.map(({ code, line, column }) => `${code} ${line} ${column}`),
    refused,
    warnings: warnings.map(({ code, line }) => `${code} ${line}`),
  };
}

describe('identities that the service lists', () => {
  test('are taken, and the list is asked for once for each type', async () => {
    await listed(['BENEFICIARY', ANNA], ['BENEFICIARY', BOB], ['ORIGINATOR', FIRM]);
    const identities = book();
    const found = await look([[ANNA], [BOB, FIRM], [ANNA.toUpperCase()]], identities);
    expect(found).toEqual({ problems: [], refused: 0, warnings: [], judged: ['payable', 'payable', 'payable'] });
    await look([[ANNA]], identities);
    expect(asked).toBe(2);
  });

  test('as neither type are warned of once in each column, at the first row that has them', async () => {
    await listed(['BENEFICIARY', ANNA], ['ORIGINATOR', FIRM]);
    const { warnings } = await look([[ANNA], [BOB], [ANNA, BOB], [BOB]]);
    expect(warnings).toEqual(['W_IDENTITY 3', 'W_IDENTITY 4']);
  });

  test('that are swapped are two problems of one row', async () => {
    await listed(['BENEFICIARY', ANNA], ['ORIGINATOR', FIRM]);
    const path = join(folder, 'swapped.csv');
    const header = 'reference,beneficiaryIdentityId,originatorIdentityId,amount,sourceCurrency,destinationCurrency';
    writeFileSync(path, `${header}\nINV-1,${FIRM},${ANNA},10.00,USD,MXN\n`);
    const { problems, problemsTotal, refused } = await book().check(path, await checkPayoutFile(path));
    expect([problems.length, problemsTotal, refused]).toEqual([2, 2, 1]);
  });

  test('as another type refuse the row, with the column', async () => {
    await listed(['BENEFICIARY', ANNA], ['ORIGINATOR', FIRM]);
    expect(await look([[FIRM], [ANNA, ANNA], [ANNA, FIRM]])).toEqual({
      problems: ['E_BENEFICIARY 2 beneficiaryIdentityId', 'E_ORIGINATOR 3 originatorIdentityId'],
      refused: 2,
      warnings: [],
      judged: ['refused', 'refused', 'payable'],
    });
  });
});

describe('an identity that is missing from the list', () => {
  test('brings one warning, and its payouts are payable: the list may leave some out', async () => {
    await listed(['BENEFICIARY', ANNA]);
    expect(await look([[ANNA], [BOB], [BOB]])).toMatchObject({
      problems: [],
      warnings: [expect.stringMatching(/^W_IDENTITY/)],
      judged: ['payable', 'payable', 'payable'],
    });
  });

  test('refuses the row when the service has none of its type at all', async () => {
    await listed(['BENEFICIARY', ANNA]);
    expect(await look([[ANNA, FIRM]])).toMatchObject({
      problems: ['E_ORIGINATOR 2 originatorIdentityId'],
      refused: 1,
      judged: ['refused'],
    });
  });
});

test('a sandbox that takes any identity refuses nothing', async () => {
  sandbox.switches.set({ acceptsAnyIdentity: true });
  expect(await look([[ANNA, FIRM]])).toEqual({ problems: [], refused: 0, warnings: [], judged: ['payable'] });
});

test('a service that does not tell its identities refuses nothing', async () => {
  await sandbox.close();
  expect(await look([[ANNA, FIRM]])).toEqual({ problems: [], refused: 0, warnings: [], judged: ['payable'] });
}, 180_000);

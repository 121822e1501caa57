import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NO_WEB_SETTINGS } from '../../src/config/web.ts';
import { cancelRun } from '../../src/runs/decide/control.ts';
import { handInUpload, resumeUploads } from '../../src/web/uploads/hand-in.ts';
import { listUploads } from '../../src/web/uploads/upload.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { openWebRig, type Visitor } from './rig.ts';

const BENEFICIARY = '7d9f1c1e-5f0a-4c56-9f5e-2b1d3c4a5e6f';
const HEADER = 'reference,beneficiaryIdentityId,amount,sourceCurrency,destinationCurrency';

let server: TestRedis;
beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.stop();
});

/** A sound payout file with so many rows, each to another beneficiary. */
function payoutFile(rows = 2, amount = '12.50'): string {
  const lines = Array.from(
    { length: rows },
    (_, at) => `INV-${at + 1},${BENEFICIARY.slice(0, -4)}${1000 + at},${amount},USD,MXN`,
  );
  return `${[HEADER, ...lines].join('\n')}\n`;
}

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

/* The eighth attack: an upload that was handed in with "again" is carried on after people cancelled its run. */
describe('an upload that is to pay rows anew', () => {
  test('makes no second run where its own was cancelled after the process that recorded it ended', async () => {
    const { person, app } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    await upload(anna, formOf(payoutFile(3), { again: 'yes' }));
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
    const [first = ''] = await app.ledger.runs.list();
    // Somebody sees the run, which is not to be, and cancels it.
    await cancelRun(app, first, { actor: 'bob', reason: 'it is the wrong file' });
    await resumeUploads({ ...app, settings });
    const runs = await Promise.all((await app.ledger.runs.list()).map((id) => app.ledger.runs.read(id)));
    expect(runs.map((run) => run?.state)).toEqual(['cancelled']);
  });

  test('makes no second run where its own was recorded, and cancelled before the upload was noted as a run', async () => {
    const { person, app } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    await upload(anna, formOf(payoutFile(3), { again: 'yes' }));
    const settings = NO_WEB_SETTINGS;
    const [staged] = await listUploads(app);
    if (staged === undefined) throw new Error('nothing was staged');
    // Redis does not answer for a moment, right after the run was let go; nobody has to restart anything.
    const cutOff = {
      ...app,
      settings,
      wake: async () => {
        throw new Error('the connection to Redis was lost');
      },
    };
    await expect(handInUpload(cutOff, staged)).rejects.toThrow('the connection to Redis was lost');
    const [first = ''] = await app.ledger.runs.list();
    await cancelRun(app, first, { actor: 'bob', reason: 'it is the wrong file' });
    expect(await app.ledger.runs.read(first)).toMatchObject({ state: 'cancelled', counts: { cancelled: 3 } });
    // What keepUploads does each hour.
    await resumeUploads({ ...app, settings });
    const runs = await Promise.all((await app.ledger.runs.list()).map((id) => app.ledger.runs.read(id)));
    expect(runs.map((run) => run?.state)).toEqual(['cancelled']);
  });
});

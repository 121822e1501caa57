import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { PLAIN_TEMPLATE, type Template } from '../../src/intake/template/template.ts';
import { allRows } from '../ledger/test-ledger.ts';
import { FILE, fileOf, useHandIns } from './hand-in-desk.ts';

const desk = useHandIns();

test('another file under a key that was forgotten is a run of its own', async () => {
  const key = 'k'.repeat(64);
  const { app } = desk;
  // Day 0: as src/web/api/runs/submission-key.ts and files.ts do.
  expect(await app.ledger.submissions.claim(key, 'one')).toBe('one');
  const first = await desk.submit(FILE, { key });
  // 30 days and some seconds later the name is free (docs/api.md), and a program sends this month's file under it.
  const redis = new Redis(app.config.redisUrl ?? '');
  await redis.del(`${app.config.prefix}:submission:${key}`);
  redis.disconnect();
  expect(await app.ledger.submissions.claim(key, 'two')).toBe('two');
  const second = await desk.submit(fileOf(7), { key, name: 'next.csv' });
  expect.soft(second.id).not.toBe(first.id);
  expect(second.rows).toBe(7);
});

const [head = '', ...lines] = FILE.trimEnd().split('\n');
const at = head.split(',').indexOf('amount');
const TWO_AMOUNTS = [
  `${head.split(',').with(at, 'Net').join(',')},Gross`,
  ...lines.map((line) => `${line},9000.00`),
  '',
].join('\n');

function reads(amount: string, not: string): Template {
  return { ...PLAIN_TEMPLATE, names: new Map([['amount', amount]]), ignored: new Set([not]) };
}

test('a hand-in under a key whose bytes are read otherwise now does not fill the run of what was read before', async () => {
  const { app } = desk;
  const key = 'upload-1';
  // The first try ends right after the claim: Redis is away for a moment, the process is killed.
  const audit = { ...app.ledger.audit, append: async () => Promise.reject(new Error('killed')) };
  await desk
    .submit(TWO_AMOUNTS, {
      key,
      intake: { template: reads('Net', 'Gross') },
      deps: { ...app, ledger: { ...app.ledger, audit } },
    })
    .catch(() => {});
  expect(await app.ledger.runs.list()).toHaveLength(1);
  // The template is corrected (or the inbox has another one), and the same is tried again, as programs and inboxes do.
  const run = await desk.submit(TWO_AMOUNTS, { key, intake: { template: reads('Gross', 'Net') } });
  const rows = await allRows(app.ledger, run.id);
  const sum = rows.reduce((total, row) => total + ('row' in row ? row.row.amount.minor : 0n), 0n);
  // By these totals it is judged who has to approve the run.
  expect({ state: run.state, totals: run.fileTotals.map(({ minor }) => minor) }).toEqual({
    state: 'paying',
    totals: [sum],
  });
});

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { freshPrefix, useTestRedis } from '../support/redis.ts';
import { parsed, payoutFile, runSchema, usePayrun } from './payrun.ts';
import { type PdfText, readPdf } from './pdf-text.ts';

const MINUTES = { timeout: 240_000 };
const hasChromium = existsSync('/usr/bin/chromium');

const redis = await useTestRedis();
const payrun = usePayrun({ REDIS_URL: redis.url, PAYRUN_PREFIX: freshPrefix() });
let runId: string;

beforeAll(async () => {
  writeFileSync(
    join(payrun.dir, 'two.csv'),
    payoutFile([
      ['INV-1', '10.00'],
      ['INV-2', '20.00'],
    ]),
  );
  runId = parsed(runSchema, (await payrun.run(['run', 'two.csv', '--json'])).stdout).runId;
}, 180_000);

function pdf(name: string): PdfText {
  return readPdf(readFileSync(join(payrun.dir, name)));
}

describe.skipIf(!hasChromium)(
  `report --format pdf${hasChromium ? '' : ' (there is no Chromium here)'}`,
  MINUTES,
  () => {
    test('prints the report of a run with its pages and its text', async () => {
      const { code, stderr } = await payrun.run(['report', runId, '--format', 'pdf', '--output', 'report.pdf']);
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr: expect.stringMatching(/^Service sandbox, ledger .*\nwrote report\.pdf\n$/),
      });
      const { pages, text } = pdf('report.pdf');
      expect(pages).toBeGreaterThan(0);
      for (const words of ['Thisreportties', runId, 'Rowsandmoney', 'Payoutsovertime', '30.00']) {
        expect(text).toContain(words);
      }
    });

    test('prints the confirmation of one payment, and none of a row that there is not', async () => {
      const words = ['report', runId, '--format', 'pdf', '--confirmation'];
      expect(await payrun.run([...words, '2', '--output', 'paid.pdf'])).toMatchObject({ code: 0 });
      const { text } = pdf('paid.pdf');
      expect(text).toContain('Thepaymentbelowwasmade');
      expect(text).toContain('INV-1');
      expect(text).not.toContain('INV-2');
      expect(await payrun.run([...words, '9', '--output', 'none.pdf'])).toMatchObject({ code: 2, stdout: '' });
      expect(existsSync(join(payrun.dir, 'none.pdf'))).toBe(false);
    });
  },
);

test('a PDF is of one run, and a confirmation is a PDF', MINUTES, async () => {
  const period = await payrun.run(['report', '--month', '2026-01', '--format', 'pdf', '--output', 'month.pdf']);
  expect(period).toMatchObject({ code: 2, stderr: expect.stringContaining('no such format') });
  const table = await payrun.run(['report', runId, '--confirmation', '2']);
  expect(table).toMatchObject({ code: 2, stderr: expect.stringContaining('--confirmation is for --format pdf') });
});

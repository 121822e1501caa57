import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inflateSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freshPrefix, startTestRedis, type TestRedis } from '../support/redis.ts';
import { buildPayrun, type Payrun, parsed, payoutFile, runSchema } from './payrun.ts';

const MINUTES = { timeout: 240_000 };
const hasChromium = existsSync('/usr/bin/chromium');

let redis: TestRedis;
let payrun: Payrun;
let runId: string;

beforeAll(async () => {
  redis = await startTestRedis();
  payrun = buildPayrun({ REDIS_URL: redis.url, PAYRUN_PREFIX: freshPrefix() });
  writeFileSync(
    join(payrun.dir, 'two.csv'),
    payoutFile([
      ['INV-1', '10.00'],
      ['INV-2', '20.00'],
    ]),
  );
  runId = parsed(runSchema, (await payrun.run(['run', 'two.csv', '--json'])).stdout).runId;
}, 180_000);
afterAll(async () => {
  payrun?.remove();
  await redis.stop();
});

/** How many pages a PDF has, and the streams in it (ISO 32000), unpacked. */
function contentOf(name: string): { readonly pages: number; readonly streams: readonly string[] } {
  const bytes = readFileSync(join(payrun.dir, name));
  const text = bytes.toString('latin1');
  expect(text.startsWith('%PDF-')).toBe(true);
  const packed = [...text.matchAll(/\/Length ([0-9]+)[^>]*>>\s*stream\r?\n/g)].map(({ 0: head, 1: length, index }) =>
    bytes.subarray(index + head.length, index + head.length + Number(length)),
  );
  const streams = packed.flatMap((one) => {
    try {
      return [inflateSync(one).toString('latin1')];
    } catch {
      return [];
    }
  });
  const all = [text, ...streams].join('\n');
  return { pages: all.match(/\/Type ?\/Page\b(?!s)/g)?.length ?? 0, streams };
}

/** Text of a PDF: glyphs that its fonts say the characters of (ToUnicode), as Chromium writes them. */
function textOf(streams: readonly string[]): string {
  const characters = new Map<string, string>();
  for (const map of streams.filter((one) => one.includes('begincmap'))) {
    for (const [, from = '', to = ''] of map.matchAll(/^<([0-9a-f]{4})> <([0-9a-f]{4,})>$/gim))
      characters.set(from.toLowerCase(), String.fromCharCode(Number.parseInt(to, 16)));
    for (const [, first = '', last = '', to = ''] of map.matchAll(
      /^<([0-9a-f]{4})> <([0-9a-f]{4})> <([0-9a-f]{4})>$/gim,
    )) {
      const start = Number.parseInt(first, 16);
      for (let code = start; code <= Number.parseInt(last, 16); code++)
        characters.set(code.toString(16).padStart(4, '0'), String.fromCharCode(Number.parseInt(to, 16) + code - start));
    }
  }
  const shown = streams.flatMap((one) =>
    [...one.matchAll(/<([0-9a-f]+)>(?=[^<>[\]]*(?:\]\s*TJ|Tj|<))/gi)].map(([, hex = '']) => hex),
  );
  return shown
    .flatMap((hex) => hex.match(/.{4}/g) ?? [])
    .map((code) => characters.get(code.toLowerCase()) ?? '')
    .join('');
}

describe.skipIf(!hasChromium)(
  `report --format pdf${hasChromium ? '' : ' (there is no Chromium here)'}`,
  MINUTES,
  () => {
    test('prints the report of a run with its pages and its text', async () => {
      const { code, stderr } = await payrun.run(['report', runId, '--format', 'pdf', '--output', 'report.pdf']);
      expect({ code, stderr }).toEqual({ code: 0, stderr: 'wrote report.pdf\n' });
      const { pages, streams } = contentOf('report.pdf');
      expect(pages).toBeGreaterThan(0);
      const text = textOf(streams);
      for (const words of ['Thisreportties', runId, 'Rowsandmoney', 'Payoutsovertime', '30.00']) {
        expect(text.replaceAll(/\s/g, '')).toContain(words);
      }
    });

    test('prints the confirmation of one payment, and none of a row that there is not', async () => {
      const words = ['report', runId, '--format', 'pdf', '--confirmation'];
      expect(await payrun.run([...words, '2', '--output', 'paid.pdf'])).toMatchObject({ code: 0 });
      const text = textOf(contentOf('paid.pdf').streams).replaceAll(/\s/g, '');
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

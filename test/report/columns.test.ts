import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { reportJson } from '../../src/report/json.ts';
import { REPORT_COLUMNS } from '../../src/report/row.ts';
import { makeReportPage, makeReportSchema } from '../support/make-report-page.ts';
import { payment, payout, refused, sourceOf, textOf } from './rows.ts';

const page = join(import.meta.dirname, '../../docs/report.md');
const schema = join(import.meta.dirname, '../../docs/report.schema.json');
if (process.env['UPDATE_DOCS'] === '1') {
  writeFileSync(page, makeReportPage());
  writeFileSync(schema, `${JSON.stringify(makeReportSchema(), null, 2)}\n`);
}

/** What a validator makes of the published schema. */
function published(): z.ZodType {
  return z.fromJSONSchema(JSON.parse(readFileSync(schema, 'utf8')));
}

const ROWS = [payment(2, 'completed'), payment(3, 'accepted', { fees: [] }), payout(4), refused(5)];

describe('the columns of the report', () => {
  test('are documented in docs/report.md as the code has them', () => {
    expect(readFileSync(page, 'utf8')).toBe(makeReportPage());
  });

  test('are described by the JSON Schema in docs/report.schema.json, each of them required', () => {
    expect(JSON.parse(readFileSync(schema, 'utf8'))).toEqual(makeReportSchema());
    expect(makeReportSchema()).toMatchObject({
      properties: { rows: { items: { required: [...REPORT_COLUMNS, 'fees'] } } },
    });
  });
});

describe('the published JSON Schema', () => {
  test('holds for a report', async () => {
    const report: unknown = JSON.parse(await textOf(reportJson(sourceOf(ROWS))));
    expect(published().safeParse(report).error).toBeUndefined();
  });

  test.each([
    ['a row without its outcome', '"outcome":"paid",', ''],
    ['an amount that is a number', '"sourceAmount":"100.50"', '"sourceAmount":100.5'],
    ['an outcome that there is not', '"outcome":"paid"', '"outcome":"done"'],
    ['a member more', '"line":2,', '"line":2,"more":1,'],
  ])('does not hold for %s', async (_what, was, is) => {
    const text = await textOf(reportJson(sourceOf(ROWS)));
    expect(text).toContain(was);
    expect(published().safeParse(JSON.parse(text.replace(was, is))).success).toBe(false);
  });
});

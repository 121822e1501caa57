import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bookFaults, readBook, reportFaults, rowsOf } from '../support/paid-once.ts';
import { type Ended, ROOT, redisServersBelow, useProcesses } from '../support/payrun-processes.ts';

const SMALL = join(ROOT, 'samples/small.csv');

const processes = useProcesses();

/** Paths of the reports that a run printed. */
function reportsOf({ stdout }: Ended): string[] {
  return [...stdout.matchAll(/^report (.+)$/gm)].map(([, path]) => path ?? '');
}

describe.concurrent('payrun run with nothing configured', () => {
  test('pays each row of the file once and reports it; the same command again pays nothing and changes nothing', async () => {
    const cwd = processes.folder();
    const sandbox = join(cwd, '.payrun/sandbox');
    const file = readFileSync(SMALL, 'utf8');

    const first = await processes.run(['run', SMALL], { cwd });
    expect(first).toMatchObject({ code: 0 });
    expect(first.stdout).toContain('sandbox: no money moved');
    const book = readBook(sandbox);
    expect(bookFaults(file, book)).toEqual([]);
    const reports = reportsOf(first);
    expect(reports.map((path) => path.replace(/.*\.v/, 'v'))).toEqual(['v1.csv', 'v1.json']);
    const texts = reports.map((path) => readFileSync(path, 'utf8'));
    expect(reportFaults(file, book, texts[0] ?? '')).toEqual([]);

    const again = await processes.run(['run', SMALL], { cwd });
    expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining('Nothing was paid now.') });
    expect(reportsOf(again)).toEqual(reports);
    expect(reports.map((path) => readFileSync(path, 'utf8'))).toEqual(texts);
    expect(readdirSync(join(cwd, '.payrun/reports'))).toHaveLength(2);
    expect(readBook(sandbox)).toEqual(book);
    expect(redisServersBelow(cwd)).toEqual([]);
  });

  test('refuses a file with a bad row whole, says what is wrong, and with --skip-invalid pays the rest', async () => {
    const cwd = processes.folder();
    const [header = '', ...lines] = readFileSync(SMALL, 'utf8').trimEnd().split('\n');
    const bad = lines.map((line, index) => (index === 2 ? line.replace(/,[0-9.]+,/, ',"1,234.56",') : line));
    writeFileSync(join(cwd, 'bad.csv'), `${[header, ...bad].join('\n')}\n`);

    const refused = await processes.run(['run', 'bad.csv'], { cwd });
    expect(refused).toMatchObject({ code: 3, stdout: '' });
    expect(refused.stderr).toMatch(/^line 4, amount: E_AMOUNT "1,234\.56"\n {2}\S.*\n {2}\S.*$/m);
    expect(readBook(join(cwd, '.payrun/sandbox'))).toEqual([]);

    const skipped = await processes.run(['run', 'bad.csv', '--skip-invalid'], { cwd });
    expect(skipped).toMatchObject({ code: 4 });
    const rest = `${[header, ...lines.filter((_, index) => index !== 2)].join('\n')}\n`;
    expect(bookFaults(rest, readBook(join(cwd, '.payrun/sandbox')))).toEqual([]);
    const report = rowsOf(readFileSync(reportsOf(skipped)[0] ?? '', 'utf8'));
    expect(report.map(({ outcome }) => outcome)).toEqual(lines.map((_, index) => (index === 2 ? 'refused' : 'paid')));
    expect(report[2]).toMatchObject({ line: '4', reasonCode: 'E_AMOUNT', paymentId: '' });
  });
});

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type CheckedFile, checkPayoutSource } from '../../src/intake/check-file.ts';
import type { Reading } from '../../src/intake/formats.ts';
import { DEFAULT_LIMITS, type IntakeLimits } from '../../src/intake/limits.ts';
import { readApart } from '../../src/intake/reader/read-apart.ts';
import { PLAIN_TEMPLATE } from '../../src/intake/template/template.ts';
import { READER_PROGRAM } from '../support/reader-program.ts';
import { COLUMNS, line, sourceOf } from './payout-text.ts';
import { rowXml, workbookOf } from './workbook-file.ts';

const rows = [[...COLUMNS], line({ reference: 'INV-1' }).split(',')].map((cells, at) => rowXml(at + 1, cells));
const workbook = workbookOf({ sheets: [{ rows: rows.join('') }] });
const LOOK_MS = 50;

/** The processes that read files for this one. */
function readers(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .map(Number)
    .filter((pid) => textOf(`/proc/${pid}/stat`).split(') ').at(-1)?.split(' ')[1] === `${process.pid}`)
    .filter((pid) => textOf(`/proc/${pid}/cmdline`).includes(READER_PROGRAM));
}

/** Empty for a process that has ended meanwhile. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Gone is one of which this process knows that it has ended. */
async function areGone(pids: readonly number[]): Promise<void> {
  while (pids.some((pid) => existsSync(`/proc/${pid}`))) await setTimeout(LOOK_MS);
}

/** Reads the workbook; each of its readers dies in the midst of it, as far as there are words on how. */
async function readWith(
  deaths: readonly (() => void)[],
  limits: Partial<IntakeLimits> = {},
): Promise<{ checked: CheckedFile; readings: number }> {
  // One may still wait for its next file.
  const before = readers();
  kill();
  await areGone(before);
  let readings = 0;
  const source = {
    ...sourceOf(workbook),
    name: 'test.xlsx',
    async *chunks() {
      const death = deaths[readings++];
      yield workbook.subarray(0, 100);
      if (death !== undefined) {
        let own = readers();
        for (; own.length === 0; own = readers()) await setTimeout(LOOK_MS);
        death();
        await areGone(own);
      }
      yield workbook.subarray(100);
    },
  };
  return { checked: await checkPayoutSource(source, { limits }), readings };
}

function kill(): void {
  for (const pid of readers()) process.kill(pid, 'SIGKILL');
}

describe('a workbook', () => {
  test('is read once more when its reader died, and is whole', async () => {
    const { checked, readings } = await readWith([kill]);
    expect(checked).toMatchObject({ rows: 1, valid: 1, problems: [], fileRefused: false });
    expect(readings).toBe(2);
  });

  test.each([
    { why: 'it is killed', death: kill, found: 'the program that reads it ended with the signal SIGKILL' },
    {
      why: 'it takes too much memory',
      limits: { readMemoryBytesMax: 20_000_000 },
      found: 'more than 19 MiB of memory',
    },
    { why: 'it takes too long', limits: { readSecondsMax: 1 }, found: 'it takes more than 1 seconds' },
  ])(
    'is refused when its reader died twice, for $why; others are read',
    async ({ death = () => {}, limits, found }) => {
      const { checked, readings } = await readWith([death, death], limits);
      expect(checked).toMatchObject({ rows: 0, valid: 0, fileRefused: true, isMarkable: false, problemsTotal: 1 });
      expect(checked.problems[0]).toMatchObject({ code: 'E_UNREADABLE_FILE', line: null });
      expect(checked.problems[0]?.message).toContain(found);
      expect(readings).toBe(2);
      expect((await readWith([])).checked.valid).toBe(1);
    },
  );

  test('whose bytes cannot be read is no fault of its reader', async () => {
    const source = {
      ...sourceOf(workbook),
      name: 'test.xlsx',
      async *chunks() {
        yield workbook.subarray(0, 100);
        throw new Error('the disk is gone');
      },
    };
    await expect(checkPayoutSource(source)).rejects.toThrow('the disk is gone');
    expect((await readWith([])).checked.valid).toBe(1);
  });

  test('is read by a process that knows nothing of our environment', async () => {
    await readWith([]);
    const [reader] = readers();
    expect(reader).toBeDefined();
    const names = textOf(`/proc/${reader}/environ`)
      .split('\0')
      .map((variable) => variable.split('=', 1)[0]);
    // A shell adds these of its own.
    expect(['', 'PWD', 'OLDPWD', 'SHLVL', '_']).toEqual(expect.arrayContaining(names));
  });

  test('waits for no CSV file whose rows nobody takes any more', async () => {
    const reading: Reading = { format: 'csv', template: PLAIN_TEMPLATE, limits: DEFAULT_LIMITS };
    const csv = Buffer.from([COLUMNS.join(','), line({ reference: 'INV-1' }), ''].join('\n'));
    const stalled = Array.from({ length: 6 }, () => readApart(sourceOf(csv).chunks(), reading));
    for (const records of stalled) await records.next();
    expect((await checkPayoutSource({ ...sourceOf(workbook), name: 'test.xlsx' })).valid).toBe(1);
    for (const records of stalled) await records.return();
  });

  test('is read beside many others, and each is told its own', async () => {
    const checks = Array.from({ length: 12 }, async (_, at) => {
      const sheet =
        rowXml(1, [...COLUMNS]) +
        Array.from({ length: at + 1 }, (__, row) =>
          rowXml(row + 2, line({ reference: `${at}-${row}` }).split(',')),
        ).join('');
      const bytes = workbookOf({ sheets: [{ rows: sheet }] });
      return (await checkPayoutSource({ ...sourceOf(bytes), name: 'test.xlsx' })).rows;
    });
    expect(await Promise.all(checks)).toEqual(Array.from({ length: 12 }, (_, at) => at + 1));
  });
});

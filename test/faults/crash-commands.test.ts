import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { diesAt } from './before-main.ts';
import type { Rig } from './rig.ts';
import { faultRow } from './row.ts';

/* F1 at the crash points of other commands than the worker: while a file is recorded, and while a report is written. */

const ROWS = 12;

/** Another command than a worker, with a crash point, on the data directory of worker `one`. */
function commandAt(rig: Rig, words: readonly string[], settings: Readonly<Record<string, string>>) {
  const env = { ...rig.env('one'), ...settings };
  return rig.processes.run(words, { cwd: rig.folder, main: 'test/faults/main.js', env });
}

for (const [words, count] of [
  ['the rows of its first batch', 1],
  ['all batches', 2],
] as const) {
  faultRow({
    ids: ['F1'],
    fault: `C16: kill -9 of payrun submit when it has sent ${words} to Redis`,
    tries: { short: 1, long: 2 },
    rows: 600,
    async body(rig) {
      writeFileSync(join(rig.folder, 'payouts.csv'), rig.file);
      const dead = await commandAt(rig, ['submit', 'payouts.csv'], { CRASH_AT: `C16 SIGKILL ${count}` });
      expect(dead).toMatchObject({ code: 'SIGKILL' });
      await rig.startWorker('one');
      // Some sweeps: what is recorded in part is not paid.
      await delay(5000);
      expect(rig.service.counters()).toMatchObject({ quotes: 0, payments: 0 });
      await rig.submit();
      const list = await rig.payrun(['list', '--json']);
      expect(JSON.parse(list.stdout)).toHaveLength(1);
      await rig.booked(600);
    },
  });
}

for (const [words, settings] of [
  ['before it writes the report', () => ({ CRASH_AT: 'C17 SIGKILL 1' })],
  ['with the report written under its draft name', (rig: Rig) => diesAt(rig, `before('sync', /[.]part$/, 2);`)],
] as const) {
  faultRow({
    ids: ['F1'],
    fault: `C17: kill -9 of payrun run ${words}`,
    tries: { short: 1, long: 2 },
    rows: ROWS,
    async body(rig) {
      writeFileSync(join(rig.folder, 'payouts.csv'), rig.file);
      expect(await commandAt(rig, ['run', 'payouts.csv'], settings(rig))).toMatchObject({ code: 'SIGKILL' });
      expect(reportsOf(rig)).toEqual([]);
      expect(await commandAt(rig, ['run', 'payouts.csv'], {})).toMatchObject({ code: 0 });
      await rig.submit();
    },
    async after(rig) {
      const runId = rig.runs[0]?.runId ?? '';
      expect(reportsOf(rig)).toEqual([`${runId}.v1.csv`, `${runId}.v1.json`]);
      const { stdout } = await rig.payrun(['report', runId, '--format', 'csv']);
      expect(readFileSync(join(rig.folder, 'one/reports', `${runId}.v1.csv`), 'utf8')).toBe(stdout);
    },
  });
}

/** Whole ones; a draft begins with a dot. */
function reportsOf(rig: Rig): string[] {
  return readdirSync(join(rig.folder, 'one/reports')).filter((name) => !name.startsWith('.'));
}

import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { beforeMain, FULL_OUTPUT } from './before-main.ts';
import { DEPTH } from './depth.ts';
import {
  failingSync,
  intentLines,
  losePower,
  missingCompiler,
  notedSync,
  onSmallDisk,
  startedWith,
} from './disk-steps.ts';
import { manyRows } from './many-rows.ts';
import { missingRoot } from './needs.ts';
import { rowsFrom, SLOWLY } from './redis-steps.ts';
import type { Rig } from './rig.ts';
import { faultRow } from './row.ts';

function runOf(rig: Rig): string {
  return rig.runs[0]?.runId ?? '';
}

faultRow({
  ids: ['F22'],
  fault:
    'the disk of the intent log is full: nothing is sent, the worker says which disk, and the run goes on by itself with space',
  tries: { short: 1, long: 2 },
  missing: missingRoot(),
  rows: 60,
  ...SLOWLY,
  body: (rig) =>
    onSmallDisk(join(rig.folder, 'one/intents'), 12, async (disk) => {
      await rig.submit({ from: 'elsewhere' });
      const worker = await rig.startWorker('one');
      await worker.said(`The disk of ${disk.path} has been full since`);
      const status = await rig.payrun(['status', runOf(rig)], 'elsewhere');
      expect(status.stderr).toMatch(/The disk of \S+intents has been full since .*goes on by itself/);
      await rig.until('an end of what was sent', async () => {
        const { armed = 0, unknown = 0, quoted = 0 } = await rig.states();
        return armed + unknown + quoted === 0;
      });
      const paid = rig.book().length;
      expect(paid).toBeGreaterThan(5);
      expect(paid).toBeLessThan(rig.rows);
      expect(rig.service.counters().payments).toBe(paid);
      disk.resize(1024);
      await rig.booked(rig.rows);
    }),
  async after(rig) {
    expect(rig.service.counters().payments).toBe(rig.rows);
  },
});

faultRow({
  ids: ['F23'],
  fault: 'the sync of an intent log fails with EIO: nothing is sent for its lines, and the worker ends and says why',
  tries: { short: 1, long: 2 },
  missing: missingCompiler(),
  times: { quoteLifeMs: 3000 },
  ...SLOWLY,
  async body(rig) {
    await rig.submit();
    const worker = rig.launchWorker('one', { settings: failingSync(rig, 6) });
    const ended = await worker.ended;
    expect(ended).toMatchObject({ code: 1 });
    expect(ended.stderr).toContain('The disk of the data directory failed: the intent log could not be synced (EIO).');
    const sent = rig.service.counters().payments;
    expect(sent).toBeGreaterThan(0);
    // Lines that were written and not synced are of requests that were never sent.
    expect(intentLines(rig, 'one')).toBeGreaterThan(sent);
    expect(rig.book().length).toBe(sent);
    await rig.startWorker('one');
  },
  async after(rig) {
    expect(rig.service.counters().payments).toBe(rig.rows);
  },
});

faultRow({
  ids: ['F24'],
  fault: 'the disk of the report folder is full: everything is paid, and the report is written when there is space',
  tries: { short: 1, long: 2 },
  missing: missingRoot(),
  body: (rig) =>
    onSmallDisk(join(rig.folder, 'reports'), 8, async (disk) => {
      await rig.submit({ from: 'elsewhere' });
      const worker = await rig.startWorker('one', { settings: { PAYRUN_REPORT_DIR: disk.path } });
      await worker.said('"job":"report"');
      expect(readdirSync(disk.path)).toEqual([]);
      disk.resize(4096);
      await rig.until('a report', () => readdirSync(disk.path).some((name) => name.endsWith('.json')));
      const report = await rig.payrun(['report', runOf(rig), '--format', 'csv'], 'elsewhere');
      expect(readFileSync(join(disk.path, `${runOf(rig)}.v1.csv`), 'utf8')).toBe(report.stdout);
      expect(readdirSync(disk.path).filter((name) => name.startsWith('.'))).toEqual([]);
    }),
});

faultRow({
  ids: ['F24'],
  fault: 'the disk of a report that payrun run or payrun report is to write is full: clear words, and no half file',
  tries: { short: 1, long: 1 },
  missing: missingRoot(),
  body: (rig) =>
    onSmallDisk(join(rig.folder, 'reports'), 8, async (disk) => {
      writeFileSync(join(rig.folder, 'payouts.csv'), rig.file);
      const run = await rig.payrun(['run', 'payouts.csv', '--report-dir', disk.path]);
      await rig.submit();
      const report = await rig.payrun(['report', runOf(rig), '--output', join(disk.path, 'report.csv')]);
      for (const ended of [run, report]) {
        expect(ended).toMatchObject({ code: 2 });
        expect(ended.stderr).toMatch(/The system refused: ENOSPC.*\n.*Make room on the disk/);
      }
      expect(readdirSync(disk.path)).toEqual([]);
      disk.resize(4096);
      expect(await rig.payrun(['run', 'payouts.csv', '--report-dir', disk.path])).toMatchObject({ code: 0 });
      expect(readdirSync(disk.path)).toHaveLength(2);
    }),
});

faultRow({
  ids: ['F59'],
  fault: 'power is lost: of the intent log and of the log of Redis there is only what was synced',
  tries: { short: 1, long: 5 },
  missing: missingCompiler(),
  switches: { answerDelayMs: { payments: 100 } },
  settings: { PAYRUN_CONCURRENCY: '8' },
  times: { quoteLifeMs: 3000 },
  async body(rig) {
    const journal = join(rig.folder, 'synced');
    const noted = notedSync(rig, journal);
    await rig.redis.stop();
    await startedWith(rig, noted);
    await rig.submit();
    const worker = await rig.startWorker('one', { settings: noted });
    await rig.booked(5 + Math.floor(20 * rig.random()));
    worker.kill('SIGKILL');
    await Promise.all([rig.redis.kill(), worker.ended]);
    expect(losePower(journal)).toBe(2);
    await rig.redis.start();
    await rig.startWorker('one');
  },
});

faultRow({
  ids: ['F24'],
  fault: "the disk of a worker's log is full: it pays on",
  tries: { short: 1, long: 1 },
  ...SLOWLY,
  async body(rig) {
    await rig.submit();
    // payrun's own main, which sees to its output.
    const env = { ...rig.env('one'), ...beforeMain(rig, FULL_OUTPUT) };
    const worker = rig.processes.start(['worker'], { cwd: rig.folder, env });
    await rig.until('all paid, or the end of the worker', () => rig.book().length === rig.rows || worker.hasEnded);
    expect(worker.hasEnded).toBe(false);
    worker.kill('SIGTERM');
    expect(await worker.ended).toMatchObject({ code: 0 });
    await rig.startWorker('one');
  },
});

faultRow({
  ids: ['F25'],
  fault: 'a worker may open no more files (EMFILE): what cannot connect is not sent',
  tries: { short: 1, long: 2 },
  missing: spawnSync('prlimit', ['--version']).status === 0 ? undefined : 'needs prlimit (util-linux)',
  rows: 80,
  outcomes: { paid: 80 },
  times: { quoteLifeMs: 3000 },
  switches: { answerDelayMs: { payments: 300 } },
  async body(rig) {
    const worker = await rig.startWorker('one');
    // Its intent log is open from the first payment on.
    await rig.submit({ name: 'first.csv', file: rowsFrom(rig.file, 1, 5) });
    await rig.booked(5);
    const openFiles = readdirSync(`/proc/${worker.pid}/fd`).length;
    const limit = (files: number): Buffer =>
      execFileSync('prlimit', [`--nofile=${files}:`, '--pid', String(worker.pid)]);
    limit(openFiles + 4);
    await rig.submit({ file: rowsFrom(rig.file, 6, 80), from: 'elsewhere' });
    await worker.said('EMFILE');
    await delay(2000);
    limit(4096);
  },
});

const BIG = DEPTH === 'short' ? { checked: 100_000, recorded: 4000 } : { checked: 1_000_000, recorded: 20_000 };

faultRow({
  ids: ['F26'],
  fault: 'a big file with 64 MiB of memory: checked, recorded, paid in part, cancelled and reported',
  tries: { short: 1, long: 1 },
  outcomes: 'any',
  settings: { NODE_OPTIONS: '--max-old-space-size=64', PAYRUN_LOG_LEVEL: 'info' },
  tryMsMax: 10 * 60_000,
  async body(rig) {
    writeFileSync(join(rig.folder, 'huge.csv'), manyRows(rig.file, BIG.checked, { name: 'HUGE' }));
    expect(await rig.payrun(['validate', 'huge.csv'])).toMatchObject({ code: 0 });
    await rig.submit({ name: 'big.csv', file: manyRows(rig.file, BIG.recorded, { name: 'BIG' }) });
    const worker = await rig.startWorker('one');
    await rig.booked(200);
    expect(worker.hasEnded).toBe(false);
    expect(await rig.payrun(['cancel', runOf(rig)])).toMatchObject({ code: 0 });
  },
  async after(rig) {
    const { cancelled = 0, completed = 0 } = await rig.states();
    expect(cancelled + completed).toBe(BIG.recorded);
  },
});

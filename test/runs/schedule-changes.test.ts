import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { printRun } from '../../src/cli/print-run.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { Run } from '../../src/payout.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { scheduleChangesOf, scheduleChangeWords } from '../../src/runs/schedule-changes.ts';
import { type Schedule, scheduleName } from '../../src/schedules/schedule.ts';
import { removeSchedule, setSchedule } from '../../src/schedules/set.ts';
import { useTestRedis } from '../support/redis.ts';
import { beginRun, freshLedger } from './recorded-run.ts';

const server = await useTestRedis();

const DAY_MS = 86_400_000;
const READS: Schedule = { cron: '0 6 * * *', zone: 'UTC', act: { kind: 'inbox', dir: '/srv/in' }, windowMs: 60_000 };
const WORDS = ['anna set the schedule morning (inbox:/srv/in)', 'bob removed the schedule evening'];

/** A run that came by an inbox and waits, with schedules that were changed, and much else before and after. */
async function openChanged(): Promise<{ ledger: Ledger; run: Run }> {
  const ledger = await freshLedger(server.redis);
  const other = { actor: 'schedule.set', action: 'run.noted', target: 'schedule morning', details: {} };
  await ledger.audit.append(other);
  await setSchedule({ ledger }, READS, { name: scheduleName.parse('morning'), actor: 'anna' });
  await ledger.schedules.set({ name: 'evening', definition: '{}', next: 1, setBy: 'anna' });
  await removeSchedule({ ledger }, { name: 'evening', actor: 'bob' });
  await ledger.audit.append(other);
  const id = await beginRun(ledger, { lines: [2] });
  await ledger.runs.note(id, { dropper: '' });
  await ledger.runs.move(id, { from: 'recording', to: 'awaiting-approval', actor: 'test', reason: 'submitted' });
  return { ledger, run: await readRun({ ledger }, id) };
}

test('schedules that were set or removed within a day before a run came by an inbox are told, the oldest first', async () => {
  const { ledger, run } = await openChanged();
  expect((await scheduleChangesOf(ledger, run)).map(scheduleChangeWords)).toEqual(WORDS);
  expect(await scheduleChangesOf(ledger, { ...run, createdAt: run.createdAt + DAY_MS + 60_000 })).toEqual([]);
});

test('of a run that came another way, or that waits for nobody, none is told', async () => {
  const { ledger, run } = await openChanged();
  expect(await scheduleChangesOf(ledger, { ...run, dropper: null })).toEqual([]);
  expect(await scheduleChangesOf(ledger, { ...run, state: 'finished' })).toEqual([]);
});

test('they are found behind many other entries', async () => {
  const { ledger, run } = await openChanged();
  const act = { actor: 'anna', action: 'run.noted', target: 'run', details: {} };
  for (let count = 0; count < 600; count++) await ledger.audit.append(act);
  expect((await scheduleChangesOf(ledger, run)).map(scheduleChangeWords)).toEqual(WORDS);
});

test('where too much was done since to look at all of it, that is told in their place', async () => {
  const { ledger, run } = await openChanged();
  const act = { actor: 'anna', action: 'run.noted', target: 'run', details: {} };
  for (let count = 0; count < 1100; count++) await ledger.audit.append(act);
  const [first, ...others] = (await scheduleChangesOf(ledger, run, 500)).map(scheduleChangeWords);
  expect([first, others]).toEqual([expect.stringMatching(/not all changes were looked for/), []]);
});

test('the command that shows a run tells them', async () => {
  const { ledger, run } = await openChanged();
  const reportDir = mkdtempSync(join(tmpdir(), 'payrun-changes-'));
  onTestFinished(() => rmSync(reportDir, { recursive: true, force: true }));
  let printed = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text);
    return true;
  });
  const jobs = { workers: async () => [] };
  const app = { ledger, config: { reportDir }, serviceName: 'sandbox', place: reportDir, jobs };
  await printRun(app, run, { json: false });
  vi.restoreAllMocks();
  for (const words of WORDS) expect(printed).toContain(words);
  expect(printed).toContain('by nobody who is named');
});
